"""What a process and all that descends from it use, as their ancestor sees it."""

from __future__ import annotations

import contextlib
import os
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


def bytes_below(folder: str) -> int:
    """What is stored in a folder of a stranger's making, which may be deep; what it closed is not seen."""
    total, waiting = 0, [folder]
    while waiting:
        path = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total
