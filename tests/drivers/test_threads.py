"""Work spread over cores."""

from threading import current_thread

import pytest

from presage.drivers.threads import over_cores


def test_results_come_in_the_order_of_the_items() -> None:
    assert over_cores(lambda number: number * number, range(50)) == [number * number for number in range(50)]


def test_work_within_work_stays_on_its_own_core() -> None:
    def outer(_: int) -> bool:
        return set(over_cores(lambda _: current_thread().name, range(5))) == {current_thread().name}

    assert all(over_cores(outer, range(4)))


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        over_cores(lambda number: 1 // number, [1, 0])
