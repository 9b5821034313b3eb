"""Triton's cache of compiled kernels, for a worker that has it alone.

Triton writes each file to a folder of its own and moves it. Landlock's first version (Linux 5.13 to 5.18)
denies every move between folders, so that no kernel would compile: a file is written beside its place here,
and renamed within the folder. A candidate may have threads, so none is seen half written.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from triton import knobs
from triton.runtime.cache import FileCacheManager


class CacheWithoutMoves(FileCacheManager):  # type: ignore[misc]
    """Triton's own, but for how a file comes to be."""

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Write ``data``, bytes or what has a text, to the cache; the file's path. Raises OSError."""
        path = Path(self._make_path(filename))
        new = path.with_name(f".{os.getpid()}.{threading.get_ident()}.tmp")
        new.write_bytes(data if isinstance(data, bytes) else str(data).encode())
        new.replace(path)
        return str(path)


def install() -> None:
    """Have Triton use it in this process, and in those that are forked from it."""
    knobs.cache.manager_class = CacheWithoutMoves
