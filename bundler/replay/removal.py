"""Remove a folder of a stranger's making: as deep as he likes, and closed to its owner.

``shutil.rmtree`` recurses in Python, or holds a descriptor for each level.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


def remove(folder: Path) -> None:
    """Remove ``folder`` and all below it, as far as that can be done; no link is followed, nothing raised."""
    with contextlib.suppress(OSError):
        top = _opened(str(folder), None)
        try:
            _empty(top)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(top: int) -> None:
    """Folders within folders are moved up to ``top``, so that none is ever reached by a long way."""
    new, number = secrets.token_hex(8), 0
    waiting = [name for name in os.listdir(top) if not _removed(name, top)]
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError), _within(name, top) as inner:
            for each in os.listdir(inner):  # noqa: PTH208 (of a descriptor)
                if not _removed(each, inner) and _moved(each, inner, f"{new}{number}", top):
                    waiting.append(f"{new}{number}")
                    number += 1
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=top)


def _removed(name: str, at: int) -> bool:
    """Remove a file or an empty folder; False where it is a folder with something in it, or will not go."""
    for removed in (os.unlink, os.rmdir):
        with contextlib.suppress(OSError):
            removed(name, dir_fd=at)
            return True
    return False


def _moved(name: str, at: int, new: str, top: int) -> bool:
    with contextlib.suppress(OSError):
        os.close(_opened(name, at))  # what is closed to its owner cannot be moved either
        os.rename(name, new, src_dir_fd=at, dst_dir_fd=top)
        return True
    return False


@contextlib.contextmanager
def _within(name: str, at: int) -> Iterator[int]:
    inner = _opened(name, at)
    try:
        yield inner
    finally:
        os.close(inner)


def _opened(name: str, at: int | None) -> int:
    """A folder, and no link to one; made accessible where this process owns it."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    try:
        with contextlib.suppress(OSError):
            Path(f"/proc/self/fd/{found}").chmod(0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
    finally:
        os.close(found)
