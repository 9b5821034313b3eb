"""A layer: entries in, the same blob out, whatever the machine."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bundler.digest import Digest
from bundler.errors import UnavailableError
from bundler.names import check_names, parents
from bundler.oci import tar
from bundler.oci.blob import Blob, Region
from bundler.oci.files import replacing
from bundler.oci.stored_gzip import store_gzip
from bundler.oci.tree import Entry

GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"
PLAIN = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class Layer:
    """One layer of an image: its blob, and the digest of the tar inside it."""

    blob: Blob
    diff_id: Digest
    media_type: str = GZIP
    """``GZIP`` or ``PLAIN``."""

    @property
    def digest(self) -> Digest:
        """Of the blob as it is stored."""
        return self.blob.digest

    @property
    def size(self) -> int:
        """Of the blob as it is stored, in bytes."""
        return self.blob.size


def build_layer(entries: Iterable[Entry], prefix: str = "") -> Layer:
    """A layer with ``entries`` below the folder ``prefix``, in memory.

    Folders get mode 0755, files 0644 or 0755, all belong to 0:0 and have one constant time. The
    order of ``entries`` has no say. Take a ``prefix`` that the base has not made a symlink (``opt/x``
    is safe, ``lib`` is not): the layer's folder would take the symlink's place. Raises
    BadExperiment for names that a layer may not hold.
    """
    source = io.BytesIO(b"".join(tar_chunks(entries, prefix)))
    destination = io.BytesIO()
    stored = store_gzip(source, destination)
    return Layer(Blob(stored.digest, stored.size, destination.getvalue()), stored.diff_id)


def tar_chunks(entries: Iterable[Entry], prefix: str = "") -> Iterator[bytes]:
    """The layer's tar, piece by piece."""
    files = {f"{prefix}/{entry.path}" if prefix else entry.path: entry for entry in _unique(entries)}
    check_names(files)
    folders = {folder for path in files for folder in parents(path)}
    for path in sorted(folders | files.keys(), key=str.encode):
        if path in files:
            entry = files[path]
            yield tar.file_header(path, size=len(entry.data), executable=entry.executable)
            yield entry.data
            yield tar.padding(len(entry.data))
        else:
            yield tar.folder_header(path)
    yield tar.END


def _unique(entries: Iterable[Entry]) -> list[Entry]:
    found = list(entries)
    check_names(entry.path for entry in found)
    return found


def store_layer(source: Path, folder: Path) -> Layer:
    """Turn the tar ``source`` (a root filesystem, gigabytes) into a layer in the layout ``folder``.

    The bytes of the tar are kept as they are; ``write_layout`` into the same folder then has nothing
    left to copy. Raises UnavailableError when ``source`` cannot be read or the disk is full.
    """
    blobs = folder / "blobs" / "sha256"
    staged = blobs / "incoming"
    try:
        blobs.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as stream, replacing(staged, mode=0o444) as writer:
            stored = store_gzip(stream, writer)
        final = staged.replace(blobs / stored.digest.hex)
    except OSError as error:
        problem = f"{str(source)!r} cannot be stored in {str(folder)!r}: {error.strerror}"
        raise UnavailableError(problem, hint="check that both exist and can be used") from error
    return Layer(Blob(stored.digest, stored.size, Region(final, 0, checked=True)), stored.diff_id)
