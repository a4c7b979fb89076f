"""Commit histories: what the GitHub experiment is played on, real or simulated."""

from typing import NamedTuple

from presage.spaces import Array


class CommitHistory(NamedTuple):
    """When each of R repositories was committed to, and the languages it holds."""

    repositories: tuple[str, ...]  # [R] names
    repository: Array  # int32 [C]: whose commit it is, ascending
    at: Array  # int64 [C]: seconds since 1970 UTC, ascending within a repository
    languages: tuple[str, ...]  # [L] names
    written_in: Array  # bool [R, L]
    observed_until: Array  # int64 [R]: seconds since 1970 UTC; nothing is known of a repository after this
