"""The files that keep a report."""

import json
from importlib.metadata import version

from presage.charts.pictures import Picture
from presage.experiments.report import Report


def kept_files(report: Report, pictures: dict[str, Picture], tables: dict[str, str]) -> dict[str, bytes]:
    """The files that keep a report: results with settings, seed and version, pictures in both forms, and tables."""
    kept = report.as_json() | {"version": version("presage")}
    files = {"results.json": json.dumps(kept, indent=1).encode()}
    for name, drawn in pictures.items():
        files |= {f"{name}.svg": drawn.svg, f"{name}.png": drawn.png}
    return files | {name: table.encode() for name, table in tables.items()}
