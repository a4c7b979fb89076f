"""Set-up shared by all tests."""

import pytest

from presage.drivers.cache import use_compile_cache


@pytest.fixture(autouse=True, scope="session")
def _compiled_programs_are_kept_between_runs() -> None:
    use_compile_cache()
