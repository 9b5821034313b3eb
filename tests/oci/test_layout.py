from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bundler.errors import BadBundle
from bundler.oci.blob import read_blob
from bundler.oci.image import Image
from bundler.oci.layer import store_layer
from bundler.oci.layout import read_layout, write_layout


def test_there_and_back(image: Image, tmp_path: Path) -> None:
    write_layout(image, tmp_path / "store")
    found = read_layout(tmp_path / "store")
    assert found == image
    assert [read_blob(layer.blob, limit_bytes=10**6) for layer in found.layers] == [
        read_blob(layer.blob, limit_bytes=10**6) for layer in image.layers
    ]


def test_writing_again_changes_nothing(image: Image, tmp_path: Path) -> None:
    write_layout(image, tmp_path)
    before = {path: path.stat().st_ino for path in (tmp_path / "blobs" / "sha256").iterdir()}
    write_layout(image, tmp_path)
    assert {path: path.stat().st_ino for path in (tmp_path / "blobs" / "sha256").iterdir()} == before


def test_blobs_of_another_layout_are_linked(image: Image, tmp_path: Path) -> None:
    write_layout(image, tmp_path / "a")
    write_layout(read_layout(tmp_path / "a"), tmp_path / "b")
    name = Path("blobs", "sha256", image.layers[0].digest.hex)
    assert (tmp_path / "a" / name).samefile(tmp_path / "b" / name)


def test_a_stored_layer_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "rootfs.tar").write_bytes(bytes(100_000))
    layer = store_layer(tmp_path / "rootfs.tar", tmp_path / "store")
    assert layer.blob.source is not None
    assert layer.size == (tmp_path / "store" / "blobs" / "sha256" / layer.digest.hex).stat().st_size


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)


@pytest.mark.parametrize("which", ["manifest", "config", "layer"])
@pytest.mark.parametrize(
    ("damage", "part_of_message"),
    [
        (_flip, "has the digest"),
        (lambda path: path.write_bytes(path.read_bytes()[:10]), "has 10 bytes"),
        (Path.unlink, "lacks the blob"),
        (lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), "lacks the blob"),
    ],
)
def test_refuses_a_damaged_blob(
    image: Image, tmp_path: Path, which: str, damage: Callable[[Path], object], part_of_message: str
) -> None:
    write_layout(image, tmp_path)
    digests = {"manifest": image.digest, "config": image.config_digest, "layer": image.layers[1].digest}
    damage(tmp_path / "blobs" / "sha256" / digests[which].hex)
    with pytest.raises(BadBundle, match=part_of_message):
        read_layout(tmp_path)


def test_an_own_stores_layer_is_verified_when_it_is_read(image: Image, tmp_path: Path) -> None:
    write_layout(image, tmp_path)
    _flip(tmp_path / "blobs" / "sha256" / image.layers[0].digest.hex)
    found = read_layout(tmp_path, own_store=True)
    with pytest.raises(BadBundle, match="has the digest"):
        read_blob(found.layers[0].blob, limit_bytes=10**6)


@pytest.mark.parametrize("missing", ["oci-layout", "index.json"])
def test_refuses_a_folder_that_is_no_layout(image: Image, tmp_path: Path, missing: str) -> None:
    write_layout(image, tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(BadBundle, match="not an OCI layout"):
        read_layout(tmp_path)
