"""Whatever enters is checked: nothing out of range reaches a forecaster."""

from typing import Any

import numpy as np
import pytest

from presage import Features, Instance, SetOf, Spaces
from presage.errors import FeatureError, InputError, PresageError, ShapeError, SpaceError, SymbolError

MIXED = Spaces(Features(symbols=(4,), sets=(SetOf(3, 2),), dense=2), 2, 2)


def instance(symbols: object = (1, 0, -1), dense: object = (0.5, 1.0)) -> Instance:
    return Instance(np.array(symbols), np.array(dense))


@pytest.mark.parametrize(
    "sizes",
    [(0, 2, 2), (2, 0, 2), (2, 2, 0), (-1, 2, 2), (2.5, 2, 2), (True, 2, 2), (2**31, 2, 2)],
)
def test_an_empty_space_is_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(SpaceError, match="whole number from 1"):
        Spaces(*sizes)


def test_an_instance_without_features_is_refused() -> None:
    wrong: list[dict[str, Any]] = [{}, {"dense": -1}, {"symbols": (0,)}, {"sets": (SetOf(3, 0),)}]
    for features in wrong:
        with pytest.raises(SpaceError):
            Features(**features)


@pytest.mark.parametrize("symbol", [-1, 10, 2**40])
def test_a_symbol_outside_its_space_is_refused_never_clamped(symbol: int) -> None:
    spaces = Spaces(10, 10, 10)
    for check in (spaces.encode, spaces.proxy, spaces.outcome):
        with pytest.raises(SymbolError, match=rf"found {symbol}; symbols count from 0, so give 0 to 9"):
            check([0, symbol])


@pytest.mark.parametrize("symbol", [1.0, "1", None, True, np.nan])
def test_a_symbol_that_is_not_a_whole_number_is_refused(symbol: object) -> None:
    with pytest.raises(SymbolError, match="whole numbers"):
        Spaces(10, 2, 2).encode(symbol)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_feature_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(FeatureError, match="not finite"):
        MIXED.encode(instance(dense=(0.0, value)))


def test_features_of_another_kind_or_shape_are_refused() -> None:
    with pytest.raises(FeatureError, match="numbers"):
        MIXED.encode(instance(dense=("a", "b")))
    with pytest.raises(ShapeError, match="declared features"):
        MIXED.encode(instance(dense=(1.0,)))
    with pytest.raises(ShapeError, match="several features"):
        MIXED.encode(3)
    for symbols in ((4, 0, 0), (-1, 0, 0), (0, 3, 0), (0, -2, 0)):
        with pytest.raises(SymbolError, match="outside"):
            MIXED.encode(instance(symbols))


def test_sets_may_leave_slots_empty() -> None:
    encoded = MIXED.encode(instance((3, -1, -1), (True, False)))
    assert encoded.symbols.tolist() == [3, -1, -1]
    assert encoded.symbols.dtype == np.int32
    assert encoded.dense.dtype == np.float32


def test_an_error_says_what_is_wrong_what_was_found_and_what_to_do() -> None:
    with pytest.raises(PresageError) as caught:
        Spaces(10, 2, 2).encode(12)
    error = caught.value
    assert (error.wrong, error.found) == ("instance symbol outside its space", 12)
    assert "0 to 9" in error.remedy
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)


def test_errors_travel_between_processes() -> None:
    import pickle

    error = SymbolError("wrong", 3, "do this")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_number_beyond_float32_is_refused() -> None:
    spaces = Spaces(Features(dense=2), 2, 2)
    with pytest.raises(FeatureError, match=r"does not fit into float32: found 1e\+300; scale it"):
        spaces.encode(Instance(np.zeros(0, np.int32), np.array([3.4e38, 1e300])))
