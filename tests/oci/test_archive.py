from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bundler.errors import BadBundle, UnavailableError, UsageError
from bundler.oci.archive import write_archive
from bundler.oci.archive_reader import read_archive
from bundler.oci.image import Image, append, rebase
from bundler.oci.layer import build_layer
from bundler.oci.layout import read_layout, write_layout
from bundler.oci.tree import Entry

Freeze = Callable[[Image | None], Image]
ROOT = Path(__file__).parents[2]


def test_an_archive_s_digests_are_the_stored_ones(image: Image, tmp_path: Path) -> None:
    """This changes only when every bundle's digest is meant to change."""
    write_archive(image, tmp_path / "x.tar", reference="x:1")
    found = hashlib.sha256((tmp_path / "x.tar").read_bytes()).hexdigest()
    assert image.digest == "sha256:2d7063ea4fffd167ac27264f9e3f410cb4b4888ef91f44570e0fea53638f479c"
    assert found == "842302a830e7d10bd1329d1aa94b68f2b2c8d567da225739af13511e4692fbc3"


def test_what_is_in_it(image: Image, tmp_path: Path) -> None:
    write_archive(image, tmp_path / "x.tar", reference="me/x:1")
    with tarfile.open(tmp_path / "x.tar") as archive:
        names = archive.getnames()
        index = json.loads(archive.extractfile("index.json").read())  # type: ignore[union-attr]
        docker = json.loads(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
    blobs = [image.digest, image.config_digest, *(layer.digest for layer in image.layers)]
    assert names == [
        "blobs",
        "blobs/sha256",
        "oci-layout",
        "index.json",
        "manifest.json",
        *(f"blobs/sha256/{digest.hex}" for digest in blobs),
    ]
    assert index["manifests"][0]["digest"] == image.digest
    assert index["manifests"][0]["annotations"] == {
        "io.containerd.image.name": "docker.io/me/x:1",
        "org.opencontainers.image.ref.name": "1",
    }
    assert docker == [
        {
            "Config": f"blobs/sha256/{image.config_digest.hex}",
            "RepoTags": ["me/x:1"],
            "Layers": [f"blobs/sha256/{layer.digest.hex}" for layer in image.layers],
        }
    ]


def test_there_and_back(image: Image, tmp_path: Path) -> None:
    write_archive(image, tmp_path / "x.tar", reference="x:1")
    assert read_archive(tmp_path / "x.tar") == image


def test_bytes_do_not_depend_on_where_blobs_lie(image: Image, tmp_path: Path) -> None:
    """In memory, in a store, in another archive: copied by Python or by the kernel."""
    write_layout(image, tmp_path / "store")
    write_archive(image, tmp_path / "1.tar", reference="x:1")
    sources = [read_layout(tmp_path / "store", own_store=True), read_archive(tmp_path / "1.tar")]
    for number, source in enumerate(sources, start=2):
        write_archive(source, tmp_path / f"{number}.tar", reference="x:1")
        assert (tmp_path / f"{number}.tar").read_bytes() == (tmp_path / "1.tar").read_bytes()


def test_large_blobs_can_share_blocks(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems that clone take whole blocks alone: in both files the bytes begin at one."""
    large = build_layer([Entry("large", b"\x01" * (3 << 20))], "opt")
    under = append(None, [large], entrypoint=[], cmd=[], user="", working_dir="", env={}, labels={})
    write_layout(rebase(image, under), tmp_path / "store")
    copied = []
    copy = os.copy_file_range

    def note(source: int, to: int, count: int, offset_src: int) -> int:
        copied.append((count, offset_src, os.lseek(to, 0, os.SEEK_CUR) % 4096))
        return copy(source, to, count, offset_src=offset_src)

    monkeypatch.setattr(os, "copy_file_range", note)
    write_archive(read_layout(tmp_path / "store", own_store=True), tmp_path / "x.tar", reference="x:1")
    assert (large.size, 0, 0) in copied
    assert read_archive(tmp_path / "x.tar") == rebase(image, under)


@pytest.mark.parametrize("code", [errno.EXDEV, errno.ENOSYS, errno.EINVAL])
def test_copies_itself_where_the_kernel_does_not(
    image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    write_archive(image, tmp_path / "1.tar", reference="x:1")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    write_archive(read_archive(tmp_path / "1.tar"), tmp_path / "2.tar", reference="x:1")
    assert (tmp_path / "2.tar").read_bytes() == (tmp_path / "1.tar").read_bytes()


def test_thin_leaves_the_base_out(image: Image, tmp_path: Path) -> None:
    write_archive(image, tmp_path / "x.tar", reference="x:1", thin=True)
    with tarfile.open(tmp_path / "x.tar") as archive:
        names = archive.getnames()
    assert f"blobs/sha256/{image.layers[0].digest.hex}" not in names
    assert f"blobs/sha256/{image.layers[1].digest.hex}" in names
    found = read_archive(tmp_path / "x.tar", allow_thin=True)
    assert found == image
    assert [layer.blob.source is None for layer in found.layers] == [True, False, False]
    with pytest.raises(BadBundle, match="1 of 3 layers are missing") as caught:
        read_archive(tmp_path / "x.tar")
    assert "--thin" in caught.value.hint


def test_a_thin_archive_cannot_be_made_whole_from_nothing(image: Image, tmp_path: Path) -> None:
    write_archive(image, tmp_path / "thin.tar", reference="x:1", thin=True)
    thin = read_archive(tmp_path / "thin.tar", allow_thin=True)
    with pytest.raises(BadBundle, match="not in this file"):
        write_archive(thin, tmp_path / "x.tar", reference="x:1")
    assert [path.name for path in tmp_path.iterdir()] == ["thin.tar"]


def test_a_base_that_shrank_is_noticed(image: Image, tmp_path: Path) -> None:
    write_layout(image, tmp_path / "store")
    found = read_layout(tmp_path / "store", own_store=True)
    blob = tmp_path / "store" / "blobs" / "sha256" / image.layers[0].digest.hex
    blob.chmod(0o644)
    os.truncate(blob, 100)
    with pytest.raises(BadBundle, match="short"):
        write_archive(found, tmp_path / "x.tar", reference="x:1")
    assert not (tmp_path / "x.tar").exists()


def test_a_bad_reference_leaves_what_was_there(image: Image, tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"old")
    with pytest.raises(UsageError):
        write_archive(image, tmp_path / "x.tar", reference="X Y")
    assert (tmp_path / "x.tar").read_bytes() == b"old"


def test_a_folder_that_is_not_there(image: Image, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be written"):
        write_archive(image, tmp_path / "none" / "x.tar", reference="x:1")


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(image: Image, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    with _small_disk(folder):
        (folder / "x.tar").write_bytes(b"old")
        with pytest.raises(UnavailableError, match="No space left") as caught:
            write_archive(image, folder / "x.tar", reference="x:1")
        assert "free some space" in caught.value.hint
        with pytest.raises(UnavailableError, match="No space left"):
            write_layout(image, folder / "layout")
        assert [path.name for path in folder.glob("*.tar*")] == ["x.tar"]
        assert (folder / "x.tar").read_bytes() == b"old"
        assert not list(folder.rglob("*.tmp"))


def test_a_file_that_may_not_grow(image: Image, tmp_path: Path) -> None:
    """What a quota does, without root."""
    write_layout(image, tmp_path / "store")
    script = (
        "import sys; from pathlib import Path\n"
        "from bundler.errors import UnavailableError\n"
        "from bundler.oci.archive import write_archive\n"
        "from bundler.oci.layout import read_layout\n"
        "try: write_archive(read_layout(Path('store')), Path('x.tar'), reference='x:1')\n"
        "except UnavailableError as error: print(error.problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "File too large" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
