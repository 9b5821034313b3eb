"""A folder on disk as a sorted list of entries: what is kept, what is refused.

Kept of a file: its path, its bytes, and whether its owner may execute it. Times, owners, groups,
set-uid bits and other modes are dropped; empty folders are not kept, as in Git. Bytes are never
changed, line endings included. A symlink inside the folder is stored as what it points to.

Skipped without a word, because they are not part of what they lie in: ``SKIPPED``. Everything else
is kept or refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bundler.errors import BadExperiment, UnavailableError
from bundler.names import MAX_FILES, Problem, check_names, path_problem

SKIPPED = frozenset({"__pycache__", ".git", ".gitignore", ".gitattributes", ".gitkeep", ".gitmodules"})
"""An interpreter's cache, and what is Git's own."""

MAX_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class Entry:
    """One file of a layer."""

    path: str
    """Posix, relative to the layer's prefix, no leading slash."""
    data: bytes = field(repr=False)
    executable: bool = False


def read_tree(folder: Path, *, within: Path | None = None) -> list[Entry]:
    """The files below ``folder``, sorted by path; the file system's own order has no say.

    ``within``: how far up a symlink may reach; ``folder`` itself unless given. Raises
    BadExperiment, naming the file, for whatever cannot be stored as the same bytes everywhere, and
    UnavailableError for a file that cannot be read.
    """
    root = os.fsencode(folder)
    if not os.path.isdir(root):  # noqa: PTH112 (bytes paths: pathlib cannot hold names as they are)
        raise BadExperiment(f"{str(folder)!r} is not a folder", hint="name a folder that exists")
    bounds = os.path.realpath(os.fsencode(within or folder))
    walk = _Walk(bounds)
    entries = sorted(walk.files(root, "", (os.path.realpath(root),)), key=lambda entry: entry.path)
    check_names(entry.path for entry in entries)
    return entries


class _Walk:
    """One walk; counts what it has read, so that links cannot make a small folder endless."""

    def __init__(self, bounds: bytes) -> None:
        self.bounds = bounds
        self.count = 0
        self.size = 0

    def files(self, folder: bytes, prefix: str, above: tuple[bytes, ...]) -> Iterator[Entry]:
        """``above``: the real folders that hold this one, itself last; a link to one is a loop."""
        for raw in _names(folder, prefix):
            name = _decoded(raw, prefix)
            if name in SKIPPED:
                continue
            shown = prefix + name
            _refuse(path_problem(shown))
            yield from self._one(folder + b"/" + raw, shown, above)

    def _one(self, path: bytes, shown: str, above: tuple[bytes, ...]) -> Iterator[Entry]:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            path = self._target(path, shown)
            status = os.stat(path)  # noqa: PTH116
        if stat.S_ISDIR(status.st_mode):
            real = os.path.realpath(path)
            if real in above:
                raise _bad(shown, "the link leads back to a folder that holds it", "remove the link")
            yield from self.files(path, shown + "/", (*above, real))
        elif stat.S_ISREG(status.st_mode):
            self._admit(shown, status.st_size)
            yield Entry(shown, _read(path, shown), bool(status.st_mode & stat.S_IXUSR))
        else:
            what = "not a file, a folder or a link, but a device, a socket or a pipe"
            raise _bad(shown, what, "remove it")

    def _target(self, link: bytes, shown: str) -> bytes:
        try:
            real = os.path.realpath(link, strict=True)
        except OSError as error:
            what = f"the link leads nowhere: {error.strerror}"
            raise _bad(shown, what, "point it at a file that exists, or remove it") from None
        if real != self.bounds and not real.startswith(self.bounds.rstrip(b"/") + b"/"):
            raise _bad(shown, "the link leaves the folder", "copy what it points to in its place")
        return real

    def _admit(self, shown: str, size: int) -> None:
        self.count += 1
        self.size += size
        if self.count > MAX_FILES:
            raise _bad(shown, f"there are more than {MAX_FILES} files", "keep only what a replay needs")
        if self.size > MAX_BYTES:
            what = f"with it the folder has more than {MAX_BYTES // 1024**2} MiB"
            raise _bad(shown, what, "keep only what a replay needs")


def _names(folder: bytes, prefix: str) -> list[bytes]:
    """Bytes, not text: what a name decodes to must not depend on the locale."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except OSError as error:
        raise _unreadable(prefix or os.fsdecode(folder), error) from error


def _decoded(raw: bytes, prefix: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        shown = prefix + raw.decode(errors="backslashreplace")
        raise _bad(shown, "the name is not UTF-8", "rename it with plain letters and digits") from None


def _read(path: bytes, shown: str) -> bytes:
    try:
        return Path(os.fsdecode(path)).read_bytes()
    except OSError as error:
        raise _unreadable(shown, error) from error


def _unreadable(shown: str, error: OSError) -> UnavailableError:
    return UnavailableError(f"{shown!r} cannot be read: {error.strerror}", hint="check its permissions")


def _refuse(problem: Problem | None) -> None:
    if problem is not None:
        raise _bad(problem.path, problem.what, problem.hint)


def _bad(shown: str, what: str, hint: str) -> BadExperiment:
    return BadExperiment(f"{shown!r}: {what}", hint=hint)
