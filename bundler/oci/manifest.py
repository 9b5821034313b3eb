"""From an index to an image, over any store of blobs: the one reader of OCI's JSON.

The store is asked for a blob by digest and size; it answers with one that verifies itself when it is
read. So nothing here depends on whether the blobs lie in a folder or in a tar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bundler.digest import Digest
from bundler.errors import BadBundle
from bundler.oci.blob import Blob, read_blob
from bundler.oci.config import MAX_LAYERS, as_digest, parse_config
from bundler.oci.image import CONFIG, MANIFEST, Image
from bundler.oci.layer import GZIP, PLAIN, Layer
from bundler.strict_json import MAX_BYTES, as_list, as_object, as_size, as_text, bad, decode, encode

INDEX = "application/vnd.oci.image.index.v1+json"
LAYOUT_JSON = encode({"imageLayoutVersion": "1.0.0"})

_INDEXES = (INDEX, "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = (MANIFEST, "application/vnd.docker.distribution.manifest.v2+json")
_CONFIGS = (CONFIG, "application/vnd.docker.container.image.v1+json")
_LAYERS = {
    GZIP: GZIP,
    PLAIN: PLAIN,
    "application/vnd.docker.image.rootfs.diff.tar.gzip": GZIP,
    "application/vnd.docker.image.rootfs.diff.tar": PLAIN,
}
_MAX_MANIFESTS = 64
_MAX_NESTING = 2


class BlobStore(Protocol):
    """Where blobs are."""

    def find(self, digest: Digest, size: int) -> Blob:
        """The blob; without a source when the store may lack it. BadBundle when it must not."""


@dataclass(frozen=True)
class Descriptor:
    """What OCI's JSON says of a blob."""

    media_type: str
    digest: Digest
    size: int
    platform: str
    """``linux/amd64``, or empty where nothing is said."""


def index_json(image: Image, annotations: Mapping[str, str]) -> bytes:
    """The index of a layout that holds ``image`` alone."""
    entry: dict[str, Any] = {
        "mediaType": MANIFEST,
        "digest": image.digest,
        "size": len(image.manifest_json),
        "platform": {"architecture": image.config.architecture, "os": image.config.os},
    }
    if annotations:
        entry["annotations"] = dict(annotations)
    return encode({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]})


def load_image(index: bytes, store: BlobStore) -> Image:
    """The one image for linux/amd64 that ``index`` leads to. Raises BadBundle.

    Config and manifest are verified here; a layer's bytes are when they are read.
    """
    manifest_json = _read(_only_manifest(index, store, _MAX_NESTING), store)
    name = "the image's manifest"
    manifest = as_object(decode(manifest_json, name=name), name)
    config = _descriptor(manifest.get("config"), f"{name}, 'config',", _CONFIGS)
    config_json = _read(config, store)
    diff_ids = parse_config(config_json).diff_ids
    listed = as_list(manifest.get("layers"), f"{name}, 'layers',", most=MAX_LAYERS)
    if len(listed) != len(diff_ids):
        raise bad(name, f"has {len(listed)} layers, where the config has {len(diff_ids)}")
    found = [_descriptor(item, f"{name}, 'layers',", tuple(_LAYERS)) for item in listed]
    layers = tuple(
        Layer(store.find(item.digest, item.size), diff_id, _LAYERS[item.media_type])
        for item, diff_id in zip(found, diff_ids, strict=True)
    )
    return Image(config_json, layers, manifest_json)


def _only_manifest(index: bytes, store: BlobStore, nesting: int) -> Descriptor:
    name = "the index"
    listed = as_list(as_object(decode(index, name=name), name).get("manifests"), name, most=_MAX_MANIFESTS)
    found = {item.digest: item for item in (_descriptor(entry, name, ()) for entry in listed)}
    wanted = [item for item in found.values() if item.platform in ("", "linux/amd64")]
    if len(wanted) != 1:
        problem = f"{name} leads to {len(wanted)} images for linux/amd64, not to one"
        raise BadBundle(problem, hint="save one image to a file of its own")
    only = wanted[0]
    if only.media_type in _MANIFESTS:
        return only
    if only.media_type not in _INDEXES or not nesting:
        raise bad(name, f"leads to {only.media_type[:100]!r}, which is not an image's manifest")
    return _only_manifest(_read(only, store), store, nesting - 1)


def _descriptor(value: Any, name: str, accepted: tuple[str, ...]) -> Descriptor:
    item = as_object(value, name)
    platform = as_object(item.get("platform") or {}, f"{name} 'platform',")
    names = [as_text(platform.get(key), f"{name} {key!r},") for key in ("os", "architecture")]
    media_type = as_text(item.get("mediaType"), f"{name} 'mediaType',")
    if accepted and media_type not in accepted:
        raise bad(name, f"has the media type {media_type[:100]!r}, which is none of {', '.join(accepted)}")
    return Descriptor(
        media_type,
        as_digest(item.get("digest"), f"{name} 'digest',"),
        as_size(item.get("size"), f"{name} 'size',"),
        "/".join(names) if any(names) else "",
    )


def _read(descriptor: Descriptor, store: BlobStore) -> bytes:
    return read_blob(store.find(descriptor.digest, descriptor.size), limit_bytes=MAX_BYTES)
