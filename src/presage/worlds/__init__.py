"""Worlds with a known truth, for trying out forecasters."""

from typing import TYPE_CHECKING

from presage.facade import facade

if TYPE_CHECKING:
    from presage.worlds.factored import FactoredWorld, Trials, interleaved
    from presage.worlds.lengths import LengthTrials, LengthWorld
    from presage.worlds.marketplace import Market, MarketplaceSettings
    from presage.worlds.repositories import CommitHistory, RepositorySettings
    from presage.worlds.shop import ShopSettings, ShopTrials

__all__ = [
    "CommitHistory",
    "FactoredWorld",
    "LengthTrials",
    "LengthWorld",
    "Market",
    "MarketplaceSettings",
    "RepositorySettings",
    "ShopSettings",
    "ShopTrials",
    "Trials",
    "interleaved",
]

__getattr__, __dir__ = facade(
    __name__,
    {
        "CommitHistory": "presage.worlds.repositories",
        "FactoredWorld": "presage.worlds.factored",
        "LengthTrials": "presage.worlds.lengths",
        "LengthWorld": "presage.worlds.lengths",
        "Market": "presage.worlds.marketplace",
        "MarketplaceSettings": "presage.worlds.marketplace",
        "RepositorySettings": "presage.worlds.repositories",
        "ShopSettings": "presage.worlds.shop",
        "ShopTrials": "presage.worlds.shop",
        "Trials": "presage.worlds.factored",
        "interleaved": "presage.worlds.factored",
    },
)
