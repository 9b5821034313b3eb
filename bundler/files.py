"""Writing a file so that it appears whole or not at all, and folders that are gone in the end."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bundler import interrupts
from bundler.errors import UnavailableError


def check_writable(path: Path) -> None:
    """Raise UnavailableError where ``write_whole`` would, before work is spent on what cannot be kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with interrupts.undoing(), tempfile.NamedTemporaryFile(dir=path.parent, prefix=".bundler-") as probe:
            probe.write(b"{}")
            probe.flush()
    except OSError as error:
        raise _cannot_write(path, error) from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a temporary beside ``path``, sync, rename. Raises UnavailableError; what was there stays then."""
    temporary = path.with_name(f".{path.name[:64]}.{secrets.token_hex(8)}.tmp")
    with interrupts.undoing():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        except OSError as error:
            raise _cannot_write(path, error) from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()


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


def _cannot_write(path: Path, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"{str(path)!r} cannot be written: {error.strerror}",
        hint="free some space, or name a file in a folder that you may write to",
    )
