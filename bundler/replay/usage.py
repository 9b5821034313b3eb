"""What a process and all that descends from it use, as their ancestor sees it."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path


def threads_below(ancestor: int) -> int:
    """Threads of all that descends from a process."""
    found: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            found[int(entry.name)] = int(fields[1]), int(fields[17])
    below, grown = {ancestor}, True
    while grown:
        more = {pid for pid, (parent, _) in found.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return sum(found[pid][1] for pid in below - {ancestor})


_ENTRY_BYTES = 16384
"""What a file counts at least: a name and an inode take room as well, and time to look at."""
_CLOSED = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)


class Hidden(Exception):
    """Something in a folder cannot be counted; ``str`` says why, of whoever made it."""


def overfull(folder: str, most: int) -> str:
    """What a stranger did who has more than ``most`` bytes in his folder, or hides there what he has; else
    empty."""
    try:
        stored = bytes_below(folder, most)
    except Hidden as how:
        return str(how)
    return f"wrote {stored >> 20} MiB to its folder, over {most >> 20} MiB" if stored > most else ""


def bytes_below(folder: str, most: int = sys.maxsize) -> int:
    """What is stored in a folder of a stranger's making, which may be deep; no more is counted than ``most``
    and one file.

    What he deleted and holds open is not seen. Raises Hidden.
    """
    top = os.path.realpath(folder)
    total, waiting = 0, [top]
    while waiting:
        path = waiting.pop()
        with _counted(), _opened(path, top) as opened, os.scandir(opened) as entries:
            for entry in entries:
                with _counted():
                    total += max(entry.stat(follow_symlinks=False).st_blocks * 512, _ENTRY_BYTES)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{path}/{entry.name}")
                if total > most:
                    return total
    return total


@contextlib.contextmanager
def _opened(path: str, top: str) -> Iterator[int]:
    """A folder in ``top``, by descriptor. Raises FileNotFoundError where a link was put in its way."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not f"{_where(opened) or path}/".startswith(f"{top}/"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        yield opened
    finally:
        os.close(opened)


def _where(opened: int) -> str:
    """The path that the kernel knows it by; empty without /proc."""
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/self/fd/{opened}")  # noqa: PTH115 (as text)
    return ""


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    """What is gone by now is left out."""
    try:
        yield
    except OSError as error:
        if error.errno in _CLOSED:
            raise Hidden(f"has what cannot be counted in its folder: {error.strerror}") from None
