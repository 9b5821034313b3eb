"""One tar that is an OCI layout and a Docker archive at once.

``index.json`` is for what reads OCI, ``manifest.json`` for ``docker load``; both point at the same
blobs. Engines with the containerd store keep the image's digest, older ones its config's.
"""

from __future__ import annotations

from pathlib import Path

from bundler.oci import tar
from bundler.oci.blob import Blob, copy_blob
from bundler.oci.files import Writer, replacing
from bundler.oci.image import Image, base_layer_count
from bundler.oci.layout import all_blobs
from bundler.oci.manifest import LAYOUT_JSON, index_json
from bundler.oci.reference import Reference
from bundler.strict_json import encode

BLOBS = "blobs/sha256"
_ALIGNED_BYTES = 1 << 20
"""From this size a blob begins at a whole block, so that a base of gigabytes is shared where the disk can."""


def write_archive(image: Image, path: Path, *, reference: str, thin: bool = False) -> None:
    """Write ``image`` to ``path``, named ``reference``; the same image gives the same bytes.

    ``thin`` leaves the base's layers out: such a file loads only into a Docker that has the base, and
    that looks layers up by content (those without the containerd store). The file appears whole or
    not at all. Raises UsageError for a reference that is none, UnavailableError when the disk is
    full, BadBundle when a blob is damaged.
    """
    name = Reference.parse(reference)
    left_out = {layer.digest for layer in image.layers[: base_layer_count(image)]} if thin else set()
    with replacing(path) as writer:
        for folder in ("blobs", BLOBS):
            writer.write(tar.folder_header(folder))
        _add(writer, "oci-layout", Blob.of(LAYOUT_JSON))
        _add(writer, "index.json", Blob.of(index_json(image, name.annotations)))
        _add(writer, "manifest.json", Blob.of(docker_manifest_json(image, [name.short])))
        for blob in all_blobs(image):
            if blob.digest not in left_out:
                _add(writer, f"{BLOBS}/{blob.digest.hex}", blob)
        writer.write(tar.END)


def docker_manifest_json(image: Image, tags: list[str]) -> bytes:
    """What ``docker load`` reads."""
    entry = {
        "Config": f"{BLOBS}/{image.config_digest.hex}",
        "RepoTags": tags,
        "Layers": [f"{BLOBS}/{layer.digest.hex}" for layer in image.layers],
    }
    return encode([entry])


def _add(writer: Writer, name: str, blob: Blob) -> None:
    if blob.size < _ALIGNED_BYTES:
        writer.write(tar.file_header(name, size=blob.size))
    else:
        writer.write(tar.aligned_header(name, size=blob.size, offset=writer.tell()))
    copy_blob(blob, writer)
    writer.write(tar.padding(blob.size))
