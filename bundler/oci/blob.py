"""Blobs: bytes that have a digest, and where they are. None leaves here unverified."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import BinaryIO, cast

from bundler.digest import Digest
from bundler.errors import BadBundle
from bundler.oci.files import Writer, copy_region

_READ_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Region:
    """Part of a file that holds a blob."""

    path: Path
    offset: int
    checked: bool
    """Whether these bytes were held against the digest when they came in; then they may be copied
    without being read again."""


@dataclass(frozen=True)
class Blob:
    """Bytes by digest and size. Two blobs are equal when those are, wherever the bytes lie."""

    digest: Digest
    size: int
    """In bytes."""
    source: bytes | Region | None = field(compare=False, repr=False)
    """None: the bytes are not here (a thin archive leaves its base's layers out)."""

    @classmethod
    def of(cls, data: bytes) -> Blob:
        """The blob that ``data`` is."""
        return cls(Digest.of(data), len(data), data)


class VerifiedReader(io.RawIOBase):
    """Reads a blob; raises BadBundle at its end unless size and digest were right.

    Not before the end: use nothing of what was read until then.
    """

    def __init__(self, blob: Blob, stream: BinaryIO) -> None:
        """``stream`` stands at the blob's first byte; the caller closes it."""
        super().__init__()
        self._blob = blob
        self._stream = stream
        self._left = blob.size
        self._hash = hashlib.sha256()

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill ``buffer`` with the next bytes; 0 means that the blob ended and is sound."""
        wanted = min(len(buffer), self._left)
        data = self._stream.read(wanted) if wanted else b""
        if wanted and not data:
            raise _damaged(self._blob, f"is {self._left} bytes short of {self._blob.size}")
        self._hash.update(data)
        self._left -= len(data)
        if not self._left and self._hash.hexdigest() != self._blob.digest.hex:
            raise _damaged(self._blob, f"has the digest sha256:{self._hash.hexdigest()}")
        buffer[: len(data)] = data
        return len(data)


def blob_chunks(blob: Blob) -> Iterator[bytes]:
    """The blob's bytes; when the iterator ends without BadBundle, they were the right ones."""
    with open_stream(blob) as stream:
        yield from iter(lambda: stream.read(_READ_BYTES), b"")


def open_stream(blob: Blob) -> BinaryIO:
    """A VerifiedReader over the blob, wherever it is. Raises BadBundle when it is not here."""
    if blob.source is None:
        raise BadBundle(f"the blob {blob.digest} is not in this file", hint=_THIN_HINT)
    if isinstance(blob.source, bytes):
        return cast(BinaryIO, VerifiedReader(blob, io.BytesIO(blob.source)))
    stream = _open(blob, blob.source)
    stream.seek(blob.source.offset)
    return cast(BinaryIO, _Closing(blob, stream))


class _Closing(VerifiedReader):
    def close(self) -> None:
        self._stream.close()
        super().close()


def read_blob(blob: Blob, *, limit_bytes: int) -> bytes:
    """All of a small blob. Raises BadBundle when it is larger than ``limit_bytes``, or damaged."""
    if blob.size > limit_bytes:
        raise _damaged(blob, f"has {blob.size} bytes, more than the {limit_bytes} that it may have")
    return b"".join(blob_chunks(blob))


def verify_blob(blob: Blob) -> None:
    """Read the blob and raise BadBundle unless it is what its digest says."""
    for _ in blob_chunks(blob):
        pass


def copy_blob(blob: Blob, destination: Writer) -> None:
    """Append the blob to ``destination``, verifying it on the way unless it was verified before."""
    if isinstance(blob.source, Region) and blob.source.checked:
        with _open(blob, blob.source) as stream:
            copied = copy_region(stream, blob.source.offset, blob.size, destination)
        if copied != blob.size:
            raise _damaged(blob, f"is {blob.size - copied} bytes short of {blob.size}")
    else:
        for chunk in blob_chunks(blob):
            destination.write(chunk)


def _open(blob: Blob, region: Region) -> FileIO:
    try:
        return FileIO(region.path, "rb")
    except OSError as error:
        raise _damaged(blob, f"cannot be read from {str(region.path)!r}: {error.strerror}") from error


_THIN_HINT = "it is thin: load it into a Docker that has its base, or freeze without --thin"


def _damaged(blob: Blob, what: str) -> BadBundle:
    return BadBundle(f"the blob {blob.digest} {what}", hint="fetch the file again, or freeze it again")
