"""The table of `docs/rivals.md`: the default and its rivals on several logs, from what backtests print.

`python -m benchmarks rivals FILE.json ...` prints it; each file is what `presage backtest LOG --task FILE --rivals ...
--json` wrote, and is named after its log.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def table(files: Sequence[Path]) -> str:
    """A row for each forecaster and rival, with a column for each log."""
    found = {file.stem: json.loads(file.read_text()) for file in files}
    logs = list(found.values())
    lines = [f"| | {' | '.join(found)} |", f"|---{'|---' * len(logs)}|"]
    names = [logs[0]["default"], *dict.fromkeys(rival for log in logs for rival in log["rivals"]), "marginal"]
    lines += [f"| `{name}` | {' | '.join(_cell(log, name) for log in logs)} |" for name in names]
    return "\n".join(lines)


def _cell(log: dict[str, Any], name: str) -> str:
    """The log loss, how far the default's lies below or above it with an interval, and the seconds."""
    if name not in log["forecasters"]:
        return ""
    score, rival = log["forecasters"][name], log["rivals"].get(name)
    told = f"{score['log_loss']:.4f}"
    if rival is not None:
        percent = rival["percent"]
        told += f"; {percent['mean']:+.1f} % ({percent['low']:+.1f} to {percent['high']:+.1f})"
    return told if name == "marginal" else f"{told}; {score['seconds']:.0f} s"
