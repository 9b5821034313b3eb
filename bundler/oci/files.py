"""Writing files so that a reader sees the whole of one or nothing, and copying between them."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from bundler import interrupts
from bundler.files import cannot_write

_COPY_BYTES = 1024 * 1024
_KERNEL_COPY_BYTES = 1024 * 1024 * 1024
_CANNOT_COPY = {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM}


class Writer(FileIO):
    """An unbuffered file whose ``write`` takes all of its bytes.

    Unbuffered, so that bytes that the kernel copies land after those written before them.
    """

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        """Write all of ``data``."""
        view = memoryview(data)
        total = len(view)
        while view:
            view = view[super().write(view) :]
        return total


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o666, sync_name: bool = True) -> Iterator[Writer]:
    """A file that takes ``path``'s place when the block ends well, and is gone when it does not.

    The bytes are on the disk before the name is; with ``sync_name`` the name is too at the end, else the
    caller syncs the folder, once for many files. Raises UnavailableError when the disk is full or
    the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name[:64]}.{secrets.token_hex(8)}.tmp")
    with interrupts.undoing():
        try:
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                with Writer(descriptor, "wb") as writer:
                    yield writer
                    os.fsync(writer.fileno())
                temporary.replace(path)
            finally:
                with contextlib.suppress(OSError):
                    temporary.unlink()
            if sync_name:
                sync_folder(path.parent)
        except OSError as error:
            raise cannot_write(path, error) from error


def sync_folder(folder: Path) -> None:
    """Put the names in ``folder`` on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_region(source: FileIO, offset: int, size: int, destination: Writer) -> int:
    """Copy ``size`` bytes at ``offset``; give the number copied, less when ``source`` ends early.

    The kernel copies where it can (and shares the blocks, on file systems that know how).
    """
    done = _copy_in_kernel(source, offset, size, destination)
    while done < size:
        data = os.pread(source.fileno(), min(_COPY_BYTES, size - done), offset + done)
        if not data:
            break
        destination.write(data)
        done += len(data)
    return done


def _copy_in_kernel(source: FileIO, offset: int, size: int, destination: Writer) -> int:
    if not hasattr(os, "copy_file_range"):
        return 0
    done = 0
    while done < size:
        count = min(_KERNEL_COPY_BYTES, size - done)
        try:
            copied = os.copy_file_range(
                source.fileno(), destination.fileno(), count, offset_src=offset + done
            )
        except OSError as error:
            if error.errno in _CANNOT_COPY:
                return done
            raise
        if copied == 0:
            return done
        done += copied
    return done
