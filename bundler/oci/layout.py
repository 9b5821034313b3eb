"""An OCI image layout: a folder of blobs, each in a file that is named after its digest."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from bundler.digest import Digest
from bundler.errors import BadBundle
from bundler.files import cannot_write, read_at_most
from bundler.oci.blob import Blob, Region, copy_blob, verify_blob
from bundler.oci.files import replacing, sync_folder
from bundler.oci.image import Image
from bundler.oci.layer import Layer
from bundler.oci.manifest import LAYOUT_JSON, index_json, load_image
from bundler.oci.reference import Reference
from bundler.strict_json import MAX_BYTES

_HINT = "name a folder that bundler wrote, or write it again"


def read_layout(folder: Path, *, own_store: bool = False) -> Image:
    """The image in ``folder``. Raises BadBundle for a folder that is not a sound layout.

    Every layer is verified here, unless ``folder`` is this user's ``own_store``: what came in there
    through ``write_layout`` or ``store_layer`` was verified on its way in, and a base of gigabytes is
    not read again for each use. Bytes that are read as bytes are verified in either case.
    """
    _read_small(folder, "oci-layout")
    image = load_image(_read_small(folder, "index.json"), _Folder(folder, own_store))
    return image if own_store else replace(image, layers=tuple(map(_verified, image.layers)))


def _verified(layer: Layer) -> Layer:
    verify_blob(layer.blob)
    source = layer.blob.source
    if isinstance(source, Region):
        source = replace(source, checked=True)
    return replace(layer, blob=replace(layer.blob, source=source))


def write_layout(image: Image, folder: Path, *, reference: Reference | None = None) -> None:
    """Make ``folder`` a layout of ``image``, named ``reference``; blobs that are there are left alone.

    Each file appears whole or not at all, the index last. Blobs that lie in files of their own on
    the same file system are hard-linked. Raises UnavailableError when the disk is full.
    """
    annotations = reference.annotations if reference else {}
    blobs = folder / "blobs" / "sha256"
    try:
        blobs.mkdir(parents=True, exist_ok=True)
        for blob in all_blobs(image):
            _put(blob, blobs / blob.digest.hex)
        sync_folder(blobs)
    except OSError as error:
        raise cannot_write(folder, error) from error
    for name, data in (("oci-layout", LAYOUT_JSON), ("index.json", index_json(image, annotations))):
        with replacing(folder / name) as writer:
            writer.write(data)


def leave_only(image: Image, folder: Path) -> None:
    """Remove the blobs of the layout ``folder`` that are not ``image``'s: what it held before."""
    kept = {blob.digest.hex for blob in all_blobs(image)}
    for path in (folder / "blobs" / "sha256").iterdir():
        if path.name not in kept:
            path.unlink()


def all_blobs(image: Image) -> list[Blob]:
    """What an image is made of, each blob once: manifest, config, layers from the bottom."""
    blobs = [Blob.of(image.manifest_json), Blob.of(image.config_json)]
    blobs += [layer.blob for layer in image.layers]
    return list({blob.digest: blob for blob in blobs}.values())


def _put(blob: Blob, path: Path) -> None:
    if path.is_file() and path.stat().st_size == blob.size:
        return
    if isinstance(blob.source, Region) and blob.source.checked and _linked(blob, blob.source, path):
        return
    with replacing(path, mode=0o444, sync_name=False) as writer:
        copy_blob(blob, writer)


def _linked(blob: Blob, region: Region, path: Path) -> bool:
    """Whether the blob could be had without a copy: its file holds it alone and can be linked."""
    if region.offset or region.path.stat().st_size != blob.size:
        return False
    try:
        os.link(region.path, path)
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class _Folder:
    folder: Path
    checked: bool

    def find(self, digest: Digest, size: int) -> Blob:
        path = self.folder / "blobs" / "sha256" / digest.hex
        if path.is_symlink() or not path.is_file():
            raise BadBundle(f"{str(self.folder)!r} lacks the blob {digest}", hint=_HINT)
        found = path.stat().st_size
        if found != size:
            raise BadBundle(f"the blob {digest} has {found} bytes, not {size}", hint=_HINT)
        return Blob(digest, size, Region(path, 0, self.checked))


def _read_small(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        data = read_at_most(path, MAX_BYTES)
    except OSError as error:
        problem = f"{str(folder)!r} is not an OCI layout: {name!r}: {error.strerror}"
        raise BadBundle(problem, hint=_HINT) from error
    if len(data) > MAX_BYTES:
        raise BadBundle(f"{str(path)!r} has more than {MAX_BYTES} bytes", hint=_HINT)
    return data
