"""Set-up shared by all tests."""

import jax
import pytest

# Tests compile many small programs: keep them between runs.
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


@pytest.fixture(autouse=True, scope="session")
def _compile_cache() -> None:
    from presage.drivers.cache import use_compile_cache

    use_compile_cache()
