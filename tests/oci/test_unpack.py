from __future__ import annotations

import gzip
import io
import stat
import tarfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from bundler.digest import Digest
from bundler.errors import BadBundle, UsageError
from bundler.oci.blob import Blob
from bundler.oci.layer import GZIP, PLAIN, Layer, build_layer
from bundler.oci.tree import Entry, read_tree
from bundler.oci.unpack import read_layer_entries, unpack

ENTRIES = [Entry("a/b", b"\r\n\x00"), Entry("a/run", b"#!", executable=True), Entry("é" * 100, b"")]


def _layer(tar: bytes, media_type: str = PLAIN) -> Layer:
    data = tar if media_type == PLAIN else gzip.compress(tar)
    return Layer(Blob.of(data), Digest.of(tar), media_type)


def _tar(**fields: Any) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("odd")
        for key, value in fields.items():
            setattr(member, key, value)
        archive.addfile(member)
    return out.getvalue()


def test_there_and_back(tmp_path: Path) -> None:
    found = read_layer_entries(build_layer(ENTRIES, "opt"))
    assert found == [Entry("opt/" + entry.path, entry.data, entry.executable) for entry in ENTRIES]
    unpack(found, tmp_path / "new" / "folder")
    assert read_tree(tmp_path / "new" / "folder") == found
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder"]


def test_anyones_gzip_or_none() -> None:
    tar = _tar(name="x")
    assert read_layer_entries(_layer(tar)) == read_layer_entries(_layer(tar, GZIP)) == [Entry("x", b"")]


@pytest.mark.parametrize(
    ("fields", "part_of_message"),
    [
        ({"type": tarfile.SYMTYPE, "linkname": "x"}, "the symlink 'odd'"),
        ({"type": tarfile.LNKTYPE, "linkname": "x"}, "a hard link"),
        ({"type": tarfile.CHRTYPE}, "a device"),
        ({"type": tarfile.FIFOTYPE}, "a pipe"),
        ({"name": "../x"}, "not a name"),
        ({"name": "/x"}, "absolute"),
        ({"name": ".wh.x"}, "delete files"),
        ({"name": "a/.wh..wh..opq"}, "delete files"),
        ({"name": "a\\..\\b"}, "backslash"),
    ],
)
def test_a_layer_with_an_entry_that_could_reach_elsewhere_is_refused(
    fields: dict[str, Any], part_of_message: str
) -> None:
    with pytest.raises(BadBundle, match=part_of_message):
        read_layer_entries(_layer(_tar(**fields)))


def test_refuses_another_diff_id() -> None:
    layer = build_layer(ENTRIES)
    with pytest.raises(BadBundle, match="unpacks to"):
        read_layer_entries(Layer(layer.blob, Digest.of(b"")))


def test_refuses_a_damaged_blob() -> None:
    layer = build_layer(ENTRIES)
    data = layer.blob.source
    assert isinstance(data, bytes)
    for source in (data[:-1], data.replace(b"#!", b"#?")):
        damaged = Layer(Blob(layer.digest, layer.size, source), layer.diff_id)
        with pytest.raises(BadBundle):
            read_layer_entries(damaged)


def test_a_bomb_takes_no_more_memory_than_the_limit() -> None:
    packed = gzip.compress(bytes(256 * 1024**2), 9)
    layer = Layer(Blob.of(packed), Digest.of(b""))
    tracemalloc.start()
    with pytest.raises(BadBundle, match="more than 1048576 bytes"):
        read_layer_entries(layer, limit_bytes=1024**2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 1024**2


def test_limits() -> None:
    layer = build_layer([Entry(str(number), b"x" * 100) for number in range(100)])
    with pytest.raises(BadBundle, match="more than 50 members"):
        read_layer_entries(layer, limit_entries=50)
    plain = _layer(_tar())
    with pytest.raises(BadBundle, match="more than the 100"):
        read_layer_entries(plain, limit_bytes=100)


def test_a_layer_that_is_not_here() -> None:
    absent = Layer(Blob(Digest.of(b""), 0, None), Digest.of(b""))
    with pytest.raises(BadBundle, match="not in this file"):
        read_layer_entries(absent)


def test_unpack_refuses_what_exists(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("there", "link"):
        with pytest.raises(UsageError, match="exists already"):
            unpack(ENTRIES, tmp_path / name)


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ".wh.x"])
def test_unpack_trusts_no_name(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadBundle):
        unpack([Entry(path, b"")], tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_unpack_sets_no_bits_but_execute(tmp_path: Path) -> None:
    unpack(ENTRIES, tmp_path / "new")
    modes = {entry.path: stat.S_IMODE((tmp_path / "new" / entry.path).stat().st_mode) for entry in ENTRIES}
    assert modes["a/run"] & 0o100
    assert not modes["a/b"] & 0o7111
