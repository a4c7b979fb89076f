"""A first task file: what it proposes beyond the columns."""

from pathlib import Path

from presage.logs.first_task import first_task
from presage.task.task import read_task
from tests.logs.given import table

HEAD = "item,shop,kind_of_shop,shown_at,proxy,proxy_at,outcome,outcome_at"


def written(tmp_path: Path) -> str:
    rows = [
        (f"i{n % 40}", f"s{n % 9}", f"k{n % 2}", f"2020-01-{n % 20 + 1:02}", ("a", "b")[n // 3 % 2],
         f"2020-01-{n % 20 + 2:02}", ("no", "yes")[n // 4 % 2], f"2020-01-{n % 20 + 8:02}")
        for n in range(200)
    ]  # fmt: skip
    return first_task(table(tmp_path / "log.csv", HEAD, rows))


def test_categories_coarser_than_the_identity_are_proposed_to_back_off_through(tmp_path: Path) -> None:
    text = written(tmp_path)
    proposed = '# back_off = [["kind_of_shop"], ["kind_of_shop", "shop"]]  # what a new item shares with others'
    assert proposed in text
    assert read_task(text).forecaster.back_off == ()
    taken = read_task(text.replace("# back_off", "back_off"))
    assert taken.forecaster.back_off == (("kind_of_shop",), ("kind_of_shop", "shop"))


def test_horizons_are_whole_days_from_a_day_on(tmp_path: Path) -> None:
    task = read_task(written(tmp_path))
    assert (str(task.proxy().horizon), str(task.outcome.horizon)) == ("1 day", "7 days")
