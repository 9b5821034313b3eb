"""Reading an image from a stranger's tar: what bundler, ``docker save`` or another tool wrote.

Nothing is extracted. The tar's members are indexed; the JSON that is needed is read with limits; each
blob is held against its digest and size before it is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bundler.digest import Digest
from bundler.errors import BadBundle, UnavailableError, UsageError
from bundler.files import NotAFile, open_regular
from bundler.oci.archive import BLOBS
from bundler.oci.blob import Blob, Region, read_blob, verify_blob
from bundler.oci.config import MAX_LAYERS, parse_config
from bundler.oci.image import Image, base_layer_count, make_image
from bundler.oci.layer import PLAIN, Layer
from bundler.oci.manifest import load_image
from bundler.oci.untar import Kind, Member, read_members
from bundler.strict_json import MAX_BYTES, as_list, as_object, as_text, as_texts, decode

MAX_MEMBERS = 2048
"""``docker save`` writes four for each layer."""

_DOCKER = "manifest.json"
_INDEX = "index.json"
_LEGACY_LINK = re.compile(r"[0-9a-f]{64}/layer\.tar")
_LEGACY_TARGET = re.compile(r"\.\./([0-9a-f]{64}(?:/layer)?\.tar)")
_HINT = "the file was damaged or tampered with; ask for it again, or freeze it again"


def read_archive(path: Path, *, allow_thin: bool = False) -> Image:
    """The image in the tar ``path``. Every blob in it was verified when this returns.

    ``allow_thin``: the base's layers, and no others, may be missing; their blobs then have no
    source. Raises BadBundle for a tar that is not one sound image, UsageError where there is no such
    file. What ``docker save`` writes on engines without the containerd store has no manifest: one is
    made up for it, and the config's digest is what can be relied on.
    """
    try:
        with open_regular(path) as stream:
            archive = _index(stream, path)
            image = _read_oci(archive) if _INDEX in archive.files else _read_docker(archive)
    except (FileNotFoundError, NotAFile) as error:
        raise UsageError(f"{str(path)!r}: {error.strerror}", hint="name a tar file that exists") from error
    except OSError as error:
        problem = f"{str(path)!r} cannot be read: {error.strerror}"
        raise UnavailableError(problem, hint="check its permissions") from error
    _check_complete(image, allow_thin)
    return image


@dataclass(frozen=True)
class _Archive:
    """The members of one tar."""

    path: Path
    files: dict[str, Member]
    aliases: dict[str, str]
    """Symlinks that ``docker save`` writes for a layer that occurs twice."""

    def blob(self, name: str, digest: Digest) -> Blob:
        """The member ``name``, verified, as the blob ``digest``."""
        member = self.files.get(self.aliases.get(name, name))
        if member is None:
            raise _bad(self, f"lacks {name!r}")
        blob = Blob(digest, member.size, Region(self.path, member.offset, checked=False))
        verify_blob(blob)
        return Blob(digest, member.size, Region(self.path, member.offset, checked=True))

    def read(self, name: str) -> bytes:
        """A small member that no digest is known for."""
        member = self.files.get(name)
        if member is None:
            raise _bad(self, f"lacks {name!r}: it is no image")
        if member.size > MAX_BYTES:
            raise _bad(self, f"has {member.size} bytes in {name!r}, more than {MAX_BYTES}")
        with self.path.open("rb") as stream:
            stream.seek(member.offset)
            return stream.read(member.size)

    def find(self, digest: Digest, size: int) -> Blob:
        """The blob by its name in an OCI layout; without a source where there is none."""
        name = f"{BLOBS}/{digest.hex}"
        if name not in self.files:
            return Blob(digest, size, None)
        found = self.files[name].size
        if found != size:
            raise _bad(self, f"has {found} bytes in {name!r}, not {size}")
        return self.blob(name, digest)


def _index(stream: BinaryIO, path: Path) -> _Archive:
    if stream.read(2) == b"\x1f\x8b":
        raise BadBundle(f"{str(path)!r} is compressed with gzip", hint="unpack it first: gunzip FILE")
    size = stream.seek(0, 2)
    files: dict[str, Member] = {}
    aliases: dict[str, str] = {}
    for member in read_members(stream, size=size, limit=MAX_MEMBERS, name=repr(str(path))):
        if member.kind is Kind.FILE:
            files[member.name] = member
        elif member.kind is Kind.SYMLINK:
            aliases[member.name] = _alias(member, path)
    return _Archive(path, files, aliases)


def _alias(member: Member, path: Path) -> str:
    """Docker and podman write symlinks of exactly one shape; no other is let in, none is followed."""
    target = _LEGACY_TARGET.fullmatch(member.target)
    if target is None or not _LEGACY_LINK.fullmatch(member.name):
        problem = f"{str(path)!r} holds the symlink {member.name!r} to {member.target[:200]!r}"
        raise BadBundle(problem, hint=_HINT)
    return target.group(1)


def _read_oci(archive: _Archive) -> Image:
    decode(archive.read("oci-layout"), name="'oci-layout'")
    image = load_image(archive.read(_INDEX), archive)
    if _DOCKER in archive.files:
        _check_agreement(archive, image)
    return image


def _check_agreement(archive: _Archive, image: Image) -> None:
    """Docker reads the other index: it must not lead to another image than the one read here."""
    entry = _docker_entry(archive)
    layers = [f"{BLOBS}/{layer.digest.hex}" for layer in image.layers]
    if entry.config != f"{BLOBS}/{image.config_digest.hex}" or list(entry.layers) != layers:
        raise _bad(archive, f"leads to one image by {_INDEX!r} and to another by {_DOCKER!r}")


@dataclass(frozen=True)
class _DockerEntry:
    config: str
    layers: tuple[str, ...]


def _docker_entry(archive: _Archive) -> _DockerEntry:
    name = repr(_DOCKER)
    entries: list[Any] = as_list(decode(archive.read(_DOCKER), name=name), name, most=64)
    if len(entries) != 1:
        raise _bad(archive, f"holds {len(entries)} images by {_DOCKER!r}, not one")
    entry = as_object(entries[0], name)
    layers = as_texts(entry.get("Layers"), f"{name}, 'Layers',", most=MAX_LAYERS)
    return _DockerEntry(as_text(entry.get("Config"), f"{name}, 'Config',"), layers)


def _read_docker(archive: _Archive) -> Image:
    """What ``docker save`` wrote before version 25: ``HEX.json`` and uncompressed layers."""
    entry = _docker_entry(archive)
    config_json = _docker_config(archive, entry.config)
    diff_ids = parse_config(config_json).diff_ids
    if len(entry.layers) != len(diff_ids):
        raise _bad(archive, f"has {len(entry.layers)} layers, where the config has {len(diff_ids)}")
    layers = [
        Layer(archive.blob(name, diff_id), diff_id, PLAIN)
        for name, diff_id in zip(entry.layers, diff_ids, strict=True)
    ]
    return make_image(config_json, layers)


def _docker_config(archive: _Archive, name: str) -> bytes:
    """The config is named after its digest, and must have it."""
    try:
        digest = Digest("sha256:" + name.removeprefix(BLOBS + "/").removesuffix(".json"))
    except ValueError as error:
        raise _bad(archive, f"names its config {name[:100]!r}, which is no digest") from error
    return read_blob(archive.blob(name, digest), limit_bytes=MAX_BYTES)


def _check_complete(image: Image, allow_thin: bool) -> None:
    missing = [layer for layer in image.layers if layer.blob.source is None]
    if not missing:
        return
    if allow_thin and missing == list(image.layers[: base_layer_count(image)]):
        return
    raise BadBundle(
        f"{len(missing)} of {len(image.layers)} layers are missing, the first {missing[0].digest}",
        hint="if it was frozen with --thin, load it into a Docker that has its base; else ask for it again",
    )


def _bad(archive: _Archive, what: str) -> BadBundle:
    return BadBundle(f"{str(archive.path)!r} {what}", hint=_HINT)
