"""The compile cache: a program compiled once is not compiled again, even by another process."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.monitoring

from presage.drivers.compile_time import listen_to_jax

configure: Callable[[str, Any], None] = jax.config.update


@cache
def use_compile_cache() -> Path | None:
    """The folder that keeps compiled programs, from now on; None if it cannot be written.

    JAX's own setting (JAX_COMPILATION_CACHE_DIR) is left alone if there is one; otherwise the folder is
    `presage/xla` in the user's cache folder.
    """
    listen_to_jax(jax.monitoring.register_event_duration_secs_listener)
    chosen = jax.config.values["jax_compilation_cache_dir"]
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "presage" / "xla"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    configure("jax_compilation_cache_dir", str(folder))
    configure("jax_persistent_cache_min_compile_time_secs", 0.2)
    return folder
