"""The page on the simulated worlds has every setting and its default."""

from dataclasses import fields
from pathlib import Path

import pytest

from presage.worlds.marketplace import CALENDAR, LAUNCH, MarketplaceSettings, Volume
from presage.worlds.repositories import RepositorySettings

PAGE = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text()
NAMES = {LAUNCH: "`LAUNCH`", CALENDAR: "`CALENDAR`"}


@pytest.mark.parametrize("settings", [RepositorySettings, MarketplaceSettings])
def test_every_setting_has_a_row_with_its_default(
    settings: type[RepositorySettings] | type[MarketplaceSettings],
) -> None:
    for field in fields(settings):
        shown = NAMES[field.default] if isinstance(field.default, Volume) else field.default
        assert f"| `{field.name}` | {shown} |" in PAGE
