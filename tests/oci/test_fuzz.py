"""The two parsers that face strangers: whatever comes in, an image or BadBundle comes out."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundler import strict_json
from bundler.digest import Digest
from bundler.errors import BadBundle
from bundler.names import find_problem
from bundler.oci.archive import write_archive
from bundler.oci.archive_reader import read_archive
from bundler.oci.blob import Blob, read_blob
from bundler.oci.image import Image, own_layers
from bundler.oci.layer import GZIP, PLAIN, Layer, build_layer
from bundler.oci.tree import Entry
from bundler.oci.unpack import read_layer_entries
from bundler.oci.untar import read_members

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@st.composite
def edits(draw: st.DrawFn, data: bytes) -> bytes:
    """``data`` with a few bytes changed, cut out, put in, or moved; tar's blocks are kept often."""
    result = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        unit = draw(st.sampled_from([1, 512]))
        at = draw(st.integers(0, len(result) // unit)) * unit
        count = draw(st.integers(0, 3)) * unit
        kind = draw(st.sampled_from(["set", "cut", "put", "copy", "end"]))
        if kind == "set":
            result[at : at + count] = draw(st.binary(min_size=count, max_size=count))
        elif kind == "cut":
            del result[at : at + count]
        elif kind == "put":
            result[at:at] = draw(st.binary(max_size=20))
        elif kind == "copy":
            source = draw(st.integers(0, len(result) // unit)) * unit
            result[at:at] = result[source : source + count]
        else:
            del result[at:]
    return bytes(result)


def with_checksums(data: bytes) -> bytes:
    """Every block that says that it is a header gets the right sum, so that the rest is reached."""
    result = bytearray(data)
    for at in range(0, len(result) - 511, 512):
        if result[at + 257 : at + 262] == b"ustar":
            result[at + 148 : at + 156] = b" " * 8
            result[at + 148 : at + 156] = b"%06o\0 " % sum(result[at : at + 512])
    return bytes(result)


def _archive(image: Image) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_archive(image, Path(folder, "x.tar"), reference="x:1")
        return Path(folder, "x.tar").read_bytes()


def _read(data: bytes) -> Image | None:
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        file.write(data)
        file.flush()
        try:
            image = read_archive(Path(file.name), allow_thin=True)
            own_layers(image)
            for layer in image.layers:
                if layer.blob.source is not None:
                    read_blob(layer.blob, limit_bytes=10**7)
        except BadBundle as error:
            assert error.problem  # noqa: PT017
            assert error.hint  # noqa: PT017
            return None
        return image


@FUZZ
@given(st.data())
def test_bytes_of_an_archive(image: Image, data: st.DataObject) -> None:
    changed = data.draw(edits(_archive(image)))
    found = _read(data.draw(st.sampled_from([changed, with_checksums(changed)])))
    assert found is None or found.layers == image.layers


@FUZZ
@given(st.data())
def test_json_of_an_archive(parts: Mapping[str, bytes], data: st.DataObject) -> None:
    """One value of one JSON file is another one; digests above it are made right again."""
    names = ["index.json", "manifest.json", "oci-layout", "config", "image"]
    which = data.draw(st.sampled_from(names))
    _read(_changed(dict(parts), which, data))


def _changed(parts: dict[str, bytes], which: str, data: st.DataObject) -> bytes:
    index = strict_json.decode(parts["index.json"], name="x")
    manifest_blob = index["manifests"][0]
    manifest = strict_json.decode(parts[_path(manifest_blob)], name="x")
    if which == "config":
        config = _replaced(strict_json.decode(parts[_path(manifest["config"])], name="x"), data)
        _put(parts, manifest["config"], config)
    if which == "image":
        manifest = _replaced(manifest, data)
    if which in ("config", "image"):
        _put(parts, manifest_blob, manifest)
        del parts["manifest.json"]
        parts["index.json"] = _dumps(index)
    else:
        parts[which] = _dumps(_replaced(strict_json.decode(parts[which], name="x"), data))
    return _tar(parts)


def _path(descriptor: Mapping[str, str]) -> str:
    return "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")


def _put(parts: dict[str, bytes], descriptor: dict[str, Any], value: Any) -> None:
    blob = _dumps(value)
    descriptor.update(digest=str(Digest.of(blob)), size=len(blob))
    parts[_path(descriptor)] = blob


def _dumps(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()


def _replaced(value: Any, data: st.DataObject) -> Any:
    """``value`` with something in it replaced."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        return value | {key: _replaced(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], _replaced(value[at], data), *value[at + 1 :]]
    return data.draw(json_values)


def _tar(parts: Mapping[str, bytes]) -> bytes:
    from bundler.oci import tar

    out = b""
    for name, content in parts.items():
        out += tar.file_header(name, size=len(content)) + content + tar.padding(len(content))
    return out + tar.END


@FUZZ
@given(st.data())
def test_a_layer(data: st.DataObject) -> None:
    """The digests are right, as they are when an attacker makes them: the tar itself is at work."""
    entries = [Entry("a/" + "l" * 120, b"long"), Entry("é", b"\0" * 600), Entry("run", b"x", executable=True)]
    packed = build_layer(entries, "opt").blob.source
    assert isinstance(packed, bytes)
    tar = with_checksums(data.draw(edits(gzip.decompress(packed))))
    kind = data.draw(st.sampled_from([PLAIN, GZIP]))
    blob = tar if kind == PLAIN else data.draw(edits(gzip.compress(tar, 0)) | st.just(gzip.compress(tar, 0)))
    layer = Layer(Blob.of(blob), Digest.of(tar), kind)
    try:
        found = read_layer_entries(layer, limit_bytes=100_000, limit_entries=100)
    except BadBundle as error:
        assert error.hint  # noqa: PT017
        return
    assert find_problem(entry.path for entry in found) is None
    assert sum(len(entry.data) for entry in found) <= len(tar)


@FUZZ
@given(st.binary(max_size=1500))
def test_any_bytes_as_a_tar(data: bytes) -> None:
    for content in (data, with_checksums(data)):
        try:
            list(read_members(io.BytesIO(content), size=len(content), limit=10, name="x"))
        except BadBundle:
            continue


@FUZZ
@given(json_values | st.binary(max_size=200))
def test_any_bytes_as_json(value: Any) -> None:
    content = value if isinstance(value, bytes) else _dumps(value)
    try:
        found = strict_json.decode(content, name="x")
    except BadBundle:
        return
    assert strict_json.decode(strict_json.encode(found), name="x") == found


paths = st.text(st.sampled_from("abA.-/é日 l"), min_size=1, max_size=130)


@FUZZ
@given(st.dictionaries(paths, st.tuples(st.binary(max_size=1200), st.booleans()), max_size=6))
def test_what_a_layer_takes_it_gives_back(files: dict[str, tuple[bytes, bool]]) -> None:
    if find_problem(files) is not None:
        return
    entries = [Entry(path, *rest) for path, rest in files.items()]
    assert read_layer_entries(build_layer(entries)) == sorted(entries, key=lambda entry: entry.path)
