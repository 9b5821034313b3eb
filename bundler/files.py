"""Reading a stranger's file within bounds; writing one so that it appears whole or not at all; folders that
are gone in the end.

Only a regular file is opened, and no more of it is read than is meant to be taken. The folder that an output
goes to has to be there, so that a mistyped path makes nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from io import BufferedReader
from pathlib import Path

from bundler import interrupts
from bundler.errors import UnavailableError


class NotAFile(OSError):
    """What is there is a folder, a pipe, a device or a socket; ``strerror`` says which."""


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """Open a file that a stranger may have left; with ``follow`` a link to one too. Raises OSError; NotAFile
    for what is none.

    A plain open would wait on a pipe for ever, and a device need not have an end.
    """
    _check_regular(path.stat(follow_symlinks=follow).st_mode)
    flags = os.O_NONBLOCK | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
    with contextlib.ExitStack() as opened:
        stream = opened.enter_context(open(path, "rb", opener=lambda name, own: os.open(name, own | flags)))
        _check_regular(os.fstat(stream.fileno()).st_mode)  # it may have been exchanged since
        opened.pop_all()
        return stream


def read_at_most(path: Path, most: int, *, follow: bool = True) -> bytes:
    """A regular file's bytes, of a longer one ``most`` and one more. As ``open_regular``."""
    with open_regular(path, follow=follow) as stream:
        return stream.read(most + 1)


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotAFile(errno.EINVAL, f"it is {_kind(mode)}, not a file")


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISLNK(mode):
        return "a link"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def check_writable(path: Path) -> None:
    """Raise UnavailableError where ``write_whole`` would, before work is spent on what cannot be kept."""
    try:
        target = _target(path)
        folder = target.parent
        with interrupts.undoing(), tempfile.NamedTemporaryFile(dir=folder, prefix=".bundler-") as probe:
            probe.write(b"{}")
            probe.flush()
    except OSError as error:
        raise cannot_write(path, error) from None


def check_folder_writable(folder: Path) -> None:
    """Raise UnavailableError where no file can be written below ``folder``, which need not be there yet."""
    if folder.exists():
        check_writable(folder / ".bundler")
    else:
        check_writable(folder)


def write_whole(path: Path, data: bytes) -> None:
    """Write a temporary beside ``path``, sync, rename; a link stays one, and what it leads to is replaced.

    Its folder has to be there. Raises UnavailableError; what was there stays then.
    """
    with interrupts.undoing():
        try:
            _replace(_target(path), data)
        except OSError as error:
            raise cannot_write(path, error) from None


def write_below(folder: Path, name: str, data: bytes) -> None:
    """``write_whole`` for a file of a known layout: what is missing on the way from ``folder`` is made."""
    path = folder / name
    try:
        if folder.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    write_whole(path, data)


def _target(path: Path) -> Path:
    """Where the bytes go: never in the place of a device, as /dev/null, or of a folder."""
    target = Path(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        _check_regular(target.stat().st_mode)
    return target


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


@contextlib.contextmanager
def filling(folder: Path, *, parents: bool = False) -> Iterator[None]:
    """A folder that is filled, and made where it is not there; what is new in it goes when the block fails.

    The folder above has to be there, unless ``parents``. Raises OSError.
    """
    with interrupts.undoing(), contextlib.ExitStack() as undone:
        made = [above for above in (folder, *folder.parents) if not above.exists()]
        before = set() if made else set(folder.iterdir())
        undone.callback(_emptied, folder, before, made)
        folder.mkdir(parents=parents, exist_ok=True)
        yield
        undone.pop_all()


def _emptied(folder: Path, before: Collection[Path], made: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path in before:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    with contextlib.suppress(OSError):
        for above in made:
            above.rmdir()


@contextlib.contextmanager
def temporary_folder(remove: Callable[[Path], object] = shutil.rmtree) -> Iterator[Path]:
    """A new folder that only this user may enter; ``remove`` takes it away in the end, interrupted or not."""
    with interrupts.undoing():
        folder = Path(tempfile.gettempdir(), f"bundler-{secrets.token_hex(8)}")
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            _removed(folder, remove)


def _removed(folder: Path, remove: Callable[[Path], object]) -> None:
    try:
        if folder.exists():
            remove(folder)
    except KeyboardInterrupt:
        remove(folder)
        raise


def cannot_write(path: Path, error: OSError) -> UnavailableError:
    """The error for a write to ``path`` that the system refused."""
    hint = "write to a folder that is yours"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        hint = "free some space there, or write somewhere else"
    elif error.errno == errno.ENOENT and not path.parent.is_dir():
        hint = "make that folder first, or write somewhere else"
    elif isinstance(error, NotAFile):
        hint = "name a file"
    return UnavailableError(f"{str(path)!r} cannot be written: {error.strerror}", hint=hint)
