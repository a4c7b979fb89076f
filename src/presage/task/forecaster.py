"""The [forecaster] table of a task file: which forecaster is served, and how tables back off."""

from dataclasses import dataclass

from presage.errors import SettingError
from presage.settings import nearest
from presage.task.section import Section

KINDS = (
    "mixture", "marginal", "direct-table", "factored-table", "residual-table", "direct-table-shrunk",
    "factored-table-shrunk", "residual-table-shrunk", "direct-network", "factored-network", "residual-network",
)  # fmt: skip


@dataclass(frozen=True)
class ForecasterChoice:
    """A kind of forecaster, and the groups of features an instance shrinks to in turn."""

    kind: str = "mixture"
    back_off: tuple[tuple[str, ...], ...] = ()  # from the coarsest group to the finest, by names of symbol columns


def read_forecaster(section: Section, symbols: tuple[str, ...]) -> ForecasterChoice:
    """The choice; a mixture where nothing is said. `symbols` are the columns it may back off through."""
    kind = section.text("kind", "mixture")
    if kind not in KINDS:
        raise section.refuse("kind", "is unknown", nearest(kind, KINDS))
    for name, value in section.table_of("settings").table.items():
        remedy = "leave it out: no forecaster takes settings from a task file"
        raise SettingError(f"{section.at('settings')}.{name} would change nothing", value, remedy)
    back_off = _back_off(section, symbols) if section.has("back_off") else ()
    section.finish()
    return ForecasterChoice(kind, back_off)


def _back_off(section: Section, symbols: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    groups = section.table["back_off"]
    remedy = 'give lists of features, such as [["activity"], ["activity", "module"]]'
    if not isinstance(groups, list) or not all(isinstance(group, list) and group for group in groups):
        raise section.refuse("back_off", "must be a list of lists", remedy)
    for place, group in enumerate(groups):
        for name in group:
            if name not in symbols:
                where = f"{section.at('back_off')}[{place}] names no feature with symbols"
                raise SettingError(where, name, f"choose among {', '.join(symbols)}")
        if place and not set(groups[place - 1]) < set(group):
            where = f"{section.at('back_off')}[{place}] must hold the features of the group before it and more"
            raise SettingError(where, group, f"begin with those of {groups[place - 1]}: groups run from coarse to fine")
    return tuple(tuple(group) for group in groups)
