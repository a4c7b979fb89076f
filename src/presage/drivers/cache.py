"""The compile cache: a program compiled once is not compiled again, even by another process."""

import os
from functools import cache
from pathlib import Path

import jax


@cache
def use_compile_cache() -> Path | None:
    """The folder that keeps compiled programs, from now on; None if it cannot be written.

    JAX's own setting (JAX_COMPILATION_CACHE_DIR) is left alone if there is one; otherwise the folder is
    `presage/xla` in the user's cache folder.
    """
    chosen = jax.config.jax_compilation_cache_dir
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "presage" / "xla"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", str(folder))
    return folder
