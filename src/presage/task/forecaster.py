"""The [forecaster] table of a task file: which forecaster is wanted, its settings, and how it backs off."""

from dataclasses import dataclass

from presage.errors import SettingError
from presage.task.section import Section

KINDS = (
    "mixture", "marginal", "direct-table", "factored-table", "residual-table", "direct-table-shrunk",
    "factored-table-shrunk", "residual-table-shrunk", "direct-network", "factored-network", "residual-network",
)  # fmt: skip


@dataclass(frozen=True)
class ForecasterChoice:
    """A kind of forecaster, changes to its settings, and the groups of features an instance shrinks to in turn."""

    kind: str = "mixture"
    settings: tuple[tuple[str, bool | int | float | str], ...] = ()
    back_off: tuple[tuple[str, ...], ...] = ()  # from the coarsest group to the finest, by names of symbol columns


def read_forecaster(section: Section, symbols: tuple[str, ...]) -> ForecasterChoice:
    """The choice; a mixture where nothing is said. `symbols` are the columns it may back off through."""
    kind = section.text("kind", "mixture")
    if kind not in KINDS:
        raise section.refuse("kind", "is unknown", f"choose one of {', '.join(KINDS)}")
    settings = section.table_of("settings").table
    for name, value in settings.items():
        if not isinstance(value, bool | int | float | str):
            raise SettingError(f"{section.at('settings')}.{name} must be one value", value, "give a number or words")
    back_off = _back_off(section, symbols) if section.has("back_off") else ()
    section.finish()
    return ForecasterChoice(kind, tuple(settings.items()), back_off)


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
