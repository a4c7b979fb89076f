"""The table of `docs/rivals.md`: the default and its rivals on several logs, from what backtests print.

`python -m benchmarks rivals FILE.json ...` prints it; each file is what `presage backtest LOG --task FILE --rivals ...
--json` wrote, and is named after its log.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def table(files: Sequence[Path]) -> str:
    """A row for each forecaster and rival, with three columns for each log."""
    found = {file.stem: json.loads(file.read_text()) for file in files}
    logs = list(found.values())
    head = ["", *(f"{name}: log loss | the default's against it | seconds" for name in found)]
    lines = [f"| {' | '.join(head)} |", f"|---{'|---' * (3 * len(logs))}|"]
    names = [logs[0]["default"], *dict.fromkeys(rival for log in logs for rival in log["rivals"]), "marginal"]
    for name in names:
        cells = [cell for log in logs for cell in _cells(log, name)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(log: dict[str, Any], name: str) -> tuple[str, str, str]:
    """The log loss, the default's against it in percent with its interval, and the seconds."""
    if name not in log["forecasters"]:
        return "", "", ""
    score, rival = log["forecasters"][name], log["rivals"].get(name)
    loss = f"{score['log_loss']:.4f}"
    if rival is None:
        return loss, "", f"{score['seconds']:.0f}" if name != "marginal" else ""
    percent = rival["percent"]
    between = f"{percent['mean']:+.1f} % ({percent['low']:+.1f} to {percent['high']:+.1f}), {rival['verdict']}"
    return loss, between, f"{rival['seconds']:.0f}"
