"""From a layer back to files, for the small layers that bundler itself made."""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from bundler import interrupts
from bundler.digest import Digest
from bundler.errors import BadBundle, UsageError
from bundler.files import cannot_write
from bundler.names import MAX_FILES, check_names
from bundler.oci.blob import open_stream, read_blob
from bundler.oci.layer import PLAIN, Layer
from bundler.oci.stored_gzip import inflate
from bundler.oci.tree import Entry
from bundler.oci.untar import Kind, Member, read_members

LIMIT_BYTES = 256 * 1024 * 1024
LIMIT_ENTRIES = MAX_FILES

_HINT = "do not use this file; ask its author for one that bundler froze"


def read_layer_entries(
    layer: Layer, *, limit_bytes: int = LIMIT_BYTES, limit_entries: int = LIMIT_ENTRIES
) -> list[Entry]:
    """The files of a stranger's layer, sorted by path; folders are implied by them.

    Blob, decompressed size and diff id are verified before a byte of the tar is looked at. Raises
    BadBundle for a layer that is damaged, larger than the limits, or holds anything but files and
    folders with the names that ``build_layer`` would take.
    """
    data = _layer_tar(layer, limit_bytes)
    stream = io.BytesIO(data)
    name = f"the layer {layer.digest}"
    members = read_members(stream, size=len(data), limit=limit_entries, name=name)
    entries = [entry for member in members if (entry := _entry(member, data, name)) is not None]
    check_names((entry.path for entry in entries), error=BadBundle)
    return sorted(entries, key=lambda entry: entry.path)


def _layer_tar(layer: Layer, limit_bytes: int) -> bytes:
    if layer.media_type == PLAIN:
        data = read_blob(layer.blob, limit_bytes=limit_bytes)
    else:
        with open_stream(layer.blob) as stream:
            data = inflate(stream, limit_bytes=limit_bytes, name=f"the layer {layer.digest}")
    if Digest.of(data) != layer.diff_id:
        problem = f"the layer {layer.digest} unpacks to {Digest.of(data)}, not to {layer.diff_id}"
        raise BadBundle(problem, hint=_HINT)
    return data


def _entry(member: Member, data: bytes, name: str) -> Entry | None:
    if member.kind is Kind.SYMLINK:
        raise BadBundle(f"{name} holds the symlink {member.name!r}", hint=_HINT)
    if member.kind is Kind.FOLDER:
        return None
    end = member.offset + member.size
    return Entry(member.name, data[member.offset : end], member.executable)


def unpack(entries: Iterable[Entry], folder: Path) -> None:
    """Write ``entries`` below ``folder``, which must not exist; it appears whole or not at all.

    Raises UsageError when it exists, UnavailableError when the disk is full, BadBundle for names that
    no layer may hold.
    """
    found = list(entries)
    check_names((entry.path for entry in found), error=BadBundle)
    if os.path.lexists(folder):
        raise UsageError(f"{str(folder)!r} exists already", hint="name a folder that does not exist yet")
    temporary = folder.with_name(f".{folder.name[:64]}.{secrets.token_hex(8)}.tmp")
    with interrupts.undoing():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
            for entry in found:
                _write(temporary / entry.path, entry)
            temporary.rename(folder)
        except OSError as error:
            raise cannot_write(folder, error) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _write(path: Path, entry: Entry) -> None:
    """The umask has its say; the folder is new, so nothing in it can be a link to elsewhere."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o777 if entry.executable else 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(entry.data)
