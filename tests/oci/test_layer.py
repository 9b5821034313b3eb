from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundler.digest import Digest
from bundler.errors import BadBundle, BadExperiment, UnavailableError
from bundler.oci import tar
from bundler.oci.blob import Blob, Region, read_blob
from bundler.oci.layer import build_layer, store_layer
from bundler.oci.stored_gzip import CHUNK_BYTES, inflate, store_gzip
from bundler.oci.tree import Entry

LONG = "l" * 120 + "/" + "é" * 60
GOLDEN = [Entry("b.md", b"one\r\ntwo\n"), Entry("a/run", b"#!/bin/sh\n", executable=True), Entry(LONG, b"x")]
GOLDEN_DIFF_ID = "sha256:3d7ac34901195cb110448506ad54b0870f410207c0fbbc1a612c12fd4be9c291"
GOLDEN_DIGEST = "sha256:d70307c5f36059ad037906597cd951a241d7395a10eded27de2e2448cb7c6186"


def _bytes(blob: Blob) -> bytes:
    return read_blob(blob, limit_bytes=1 << 30)


def test_a_layer_s_digests_are_the_stored_ones() -> None:
    """These change only when every bundle's digest is meant to change."""
    layer = build_layer(GOLDEN, "opt/x")
    assert (layer.diff_id, layer.digest) == (GOLDEN_DIFF_ID, GOLDEN_DIGEST)


def test_other_programs_read_the_same() -> None:
    data = gzip.decompress(_bytes(build_layer(GOLDEN, "opt/x").blob))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
        found = {member.name: archive.extractfile(member) for member in members if member.isfile()}
        assert {name: stream.read() for name, stream in found.items() if stream} == {
            f"opt/x/{entry.path}": entry.data for entry in GOLDEN
        }
    assert [(member.name, oct(member.mode)) for member in members] == [
        ("opt", "0o755"),
        ("opt/x", "0o755"),
        ("opt/x/a", "0o755"),
        ("opt/x/a/run", "0o755"),
        ("opt/x/b.md", "0o644"),
        ("opt/x/" + "l" * 120, "0o755"),
        ("opt/x/" + LONG, "0o644"),
    ]
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "", "", tar.MODIFIED_S)}


def test_the_order_of_entries_has_no_say() -> None:
    assert build_layer(GOLDEN) == build_layer(GOLDEN[::-1])


def test_members_are_in_the_order_of_their_bytes() -> None:
    names = ["é", "a", "Z", "a-b", "b"]
    data = gzip.decompress(_bytes(build_layer([Entry(name, b"") for name in names]).blob))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getnames() == ["Z", "a", "a-b", "b", "é"]


def test_digest_and_diff_id_are_what_they_say() -> None:
    layer = build_layer(GOLDEN)
    data = _bytes(layer.blob)
    assert layer.digest == Digest.of(data)
    assert layer.size == len(data)
    assert layer.diff_id == Digest.of(gzip.decompress(data))


@pytest.mark.parametrize("path", ["../x", "/x", ".wh.x"])
def test_refuses_names(path: str) -> None:
    with pytest.raises(BadExperiment):
        build_layer([Entry(path, b"")], "opt")
    with pytest.raises(BadExperiment):
        build_layer([Entry("x", b"")], path)


def test_refuses_a_path_twice() -> None:
    with pytest.raises(BadExperiment, match="twice"):
        build_layer([Entry("x", b"1"), Entry("x", b"2")])


class _Dribble(io.RawIOBase):
    """Hands out its bytes in odd pieces, as a pipe does."""

    def __init__(self, data: bytes) -> None:
        self.source = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self.source.read(min(size, 7919))


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_stored_gzip(size: int) -> None:
    data = hashlib.shake_128(b"x").digest(size)
    outputs = []
    for source in (io.BytesIO(data), _Dribble(data)):
        out = io.BytesIO()
        stored = store_gzip(source, out)  # type: ignore[arg-type]
        outputs.append(out.getvalue())
        assert stored.digest == Digest.of(out.getvalue())
        assert stored.diff_id == Digest.of(data)
        assert stored.size == len(out.getvalue())
    assert outputs[0] == outputs[1]
    assert gzip.decompress(outputs[0]) == data
    assert len(outputs[0]) == size + 18 + 5 * max(1, -(-size // CHUNK_BYTES))


@given(st.binary(max_size=2000), st.integers(0, 9))
def test_inflate_gives_back_what_any_gzip_holds(data: bytes, level: int) -> None:
    packed = io.BytesIO(gzip.compress(data, level))
    assert inflate(packed, limit_bytes=len(data), name="x") == data


@pytest.mark.parametrize(
    ("data", "part_of_message"),
    [
        (b"", "ends too early"),
        (b"not gzip", "not a sound gzip"),
        (gzip.compress(b"abc", mtime=0)[:-1], "ends too early"),
        (gzip.compress(b"abc", mtime=0)[:-8] + b"12345678", "not a sound gzip"),
        (gzip.compress(b"abc", mtime=0) + b"x", "after the end"),
        (gzip.compress(b"abc", mtime=0) + gzip.compress(b"def", mtime=0), "after the end"),
        (gzip.compress(b"0" * 1001, mtime=0), "more than 1000 bytes"),
    ],
)
def test_inflate_refuses(data: bytes, part_of_message: str) -> None:
    with pytest.raises(BadBundle, match=part_of_message):
        inflate(io.BytesIO(data), limit_bytes=1000, name="x")


def test_inflate_refuses_bytes_after_the_end_that_come_with_a_later_read() -> None:
    class OneByOne(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(1)

    source: BinaryIO = OneByOne(gzip.compress(b"abc") + b"x")
    with pytest.raises(BadBundle, match="after the end"):
        inflate(source, limit_bytes=1000, name="x")


def test_store_layer_keeps_the_tars_bytes(tmp_path: Path) -> None:
    data = hashlib.shake_128(b"rootfs").digest(200_000)
    (tmp_path / "rootfs.tar").write_bytes(data)
    layer = store_layer(tmp_path / "rootfs.tar", tmp_path / "store")
    assert layer.diff_id == Digest.of(data)
    assert gzip.decompress(_bytes(layer.blob)) == data
    assert isinstance(layer.blob.source, Region)
    assert layer.blob.source.path == tmp_path / "store" / "blobs" / "sha256" / layer.digest.hex
    assert [path.name for path in layer.blob.source.path.parent.iterdir()] == [layer.digest.hex]


def test_store_layer_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"none\.tar"):
        store_layer(tmp_path / "none.tar", tmp_path / "store")


def test_sizes_beyond_ustar_get_a_record() -> None:
    size = 9 * 1024**3
    header = tar.file_header("big", size=size)
    assert tarfile.TarInfo.frombuf(header[-512:], "utf-8", "strict").size == 8 * 1024**3 - 1
    assert b"19 size=9663676416\n" in header
    assert len(header) == 3 * 512


def test_names_beyond_ustar_get_a_record() -> None:
    assert len(tar.file_header("n" * 100, size=0)) == 512
    assert len(tar.file_header("n" * 101, size=0)) == 3 * 512
    assert len(tar.file_header("é", size=0)) == 3 * 512


@given(
    st.integers(0, 40).map(lambda blocks: blocks * tar.BLOCK_BYTES),
    st.sampled_from(["a", "n" * 101]),
    st.sampled_from([5, 9 * 1024**3]),
)
def test_an_aligned_member_begins_at_a_whole_block(offset: int, path: str, size: int) -> None:
    header = tar.aligned_header(path, size=size, offset=offset)
    info = tarfile.TarFile(fileobj=io.BytesIO(header + tar.END)).next()
    assert info is not None
    assert (offset + info.offset_data) % tar.CLONE_BYTES == 0
    assert info.offset_data == len(header)
    assert (info.name, info.size) == (path, size)


@given(st.integers(1, 300))
def test_pax_lengths_count_themselves(length: int) -> None:
    path = "é" * length
    header = tar.file_header(path, size=0)
    info = tarfile.TarFile(fileobj=io.BytesIO(header + tar.END)).next()
    assert info is not None
    assert info.name == path
