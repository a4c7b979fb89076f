"""Moments of prediction for `examples/commits.toml`: repositories of a table of commits, at random moments.

Run it with `python -m examples.commit_moments commits.parquet out/commits`, then judge the proxy at several horizons
with `presage proxies commits.parquet --task out/commits/commits.toml`.
"""

import sys
from pathlib import Path

import numpy as np

from presage.files import write_together
from presage.logs.columns import KEY, TIME
from presage.logs.tables import parquet_files, read_table

TASK = Path(__file__).with_name("commits.toml")


def write_moments(commits: Path, folder: Path, *, repositories: int = 300, each: int = 60, days: int = 180) -> Path:
    """The task file in a folder that now holds moments too: `each` of some repositories, in the last days."""
    table = read_table(commits, {"repo": KEY, "committed_at": TIME})
    draw = np.random.default_rng(0)
    names = np.unique(table["repo"].astype(str))
    chosen = draw.permutation(names)[:repositories].repeat(each)
    last = table["committed_at"].max()
    before = draw.integers(0, days * 86_400, len(chosen)).astype("timedelta64[s]")
    moments = parquet_files({"moments": {"repo": chosen, "shown_at": last - before}})
    return write_together(folder, {**moments, TASK.name: TASK.read_bytes()})[-1]


if __name__ == "__main__":
    print(f"Task: {write_moments(Path(sys.argv[1]), Path(sys.argv[2]))}")
