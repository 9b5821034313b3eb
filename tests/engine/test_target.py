"""What a command is pointed at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bundler.bundle.freeze import freeze
from bundler.bundle.unpack import parts, unpack_experiment
from bundler.engine.folder import Folder, load_folder
from bundler.engine.target import Archive, ImageName, Target, opened, parse
from bundler.errors import BadBundle, UsageError
from bundler.oci.archive import write_archive
from bundler.oci.image import append
from bundler.oci.layer import build_layer
from bundler.oci.layout import write_layout
from bundler.oci.tree import Entry
from bundler.runtime.manifest import NAME_LABEL
from tests.small import ID, Small


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of each, to stand in."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "layout").mkdir()
    (tmp_path / "layout/oci-layout").touch()
    (tmp_path / "file.tar").touch()
    (tmp_path / "debian").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("folder", Folder(Path("folder"))),
        ("./folder/", Folder(Path("folder"))),
        ("layout", Archive(Path("layout"))),
        ("file.tar", Archive(Path("file.tar"))),
        ("debian", Archive(Path("debian"))),
        ("debian:12", ImageName("debian:12")),
        ("ubuntu", ImageName("ubuntu")),
        ("localhost:5000/a/b:1", ImageName("localhost:5000/a/b:1")),
        ("a/b@sha256:" + "0" * 64, ImageName("a/b@sha256:" + "0" * 64)),
        ("sha256:" + "0" * 64, ImageName("sha256:" + "0" * 64)),
    ],
)
@pytest.mark.usefixtures("place")
def test_what_a_text_means(text: str, target: Target) -> None:
    assert parse(text) == target


@pytest.mark.parametrize(
    "text",
    [
        "",
        "./x",
        "/x",
        "~/x",
        "../x",
        "x.tar",
        "a b",
        "-x",
        "x\n",
        "x\0y",
        "\x1b[31m",
        "é",
        "x" * 5000,
        "a/" * 3000,
    ],
)
@pytest.mark.usefixtures("place")
def test_what_means_nothing(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert error.value.problem.startswith(repr(text))


def test_a_folder_that_may_not_be_looked_into(place: Path) -> None:
    (place / "folder/inner").mkdir()
    if os.geteuid() == 0:
        pytest.skip("root may look everywhere")
    (place / "folder").chmod(0)
    with pytest.raises(UsageError, match="cannot be looked at"):
        parse("folder/inner")


def test_an_experiments_folder_and_an_unpacked_bundle(small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    assert load_folder(small.folder) == loaded
    unpack_experiment(parts(freeze(loaded, None).image), tmp_path / "bundle")
    assert load_folder(tmp_path / "bundle").sources == loaded.sources
    with pytest.raises(UsageError, match=r"is no experiment: it has no experiment.yaml"):
        load_folder(small.root)


@pytest.mark.parametrize("form", ["tar", "layout"])
def test_a_bundle_is_open_for_as_long_as_it_is_needed(small: Small, tmp_path: Path, form: str) -> None:
    image = freeze(small.load(), None).image
    if form == "tar":
        write_archive(image, tmp_path / "x", reference="x:1")
    else:
        write_layout(image, tmp_path / "x")
    with opened(tmp_path / "x") as bundle:
        folder = bundle.loaded.folder
        assert (bundle.loaded.experiment.id, bundle.image.digest) == (ID, image.digest)
        assert folder.is_dir()
    assert not folder.exists()


def test_an_image_that_is_no_bundle(tmp_path: Path) -> None:
    layer = build_layer([Entry("a", b"")])
    image = append(None, [layer], entrypoint=[], cmd=[], user="", working_dir="/", env={}, labels={})
    write_archive(image, tmp_path / "x.tar", reference="x:1")
    with pytest.raises(BadBundle, match="the image has 1 layers on its base"), opened(tmp_path / "x.tar"):
        pass


def test_a_runtime_is_told_from_a_bundle(small: Small, tmp_path: Path) -> None:
    """Of either nothing is damaged: the one is what the other is frozen onto."""
    base = append(
        None,
        [build_layer([Entry("bin/sh", b"")])],
        entrypoint=[],
        cmd=[],
        user="",
        working_dir="/",
        env={},
        labels={NAME_LABEL: "cpu"},
    )
    write_layout(base, tmp_path / "base")
    with pytest.raises(UsageError) as error, opened(tmp_path / "base"):
        pass
    assert (
        error.value.problem == f"'{tmp_path}/base' is the runtime 'cpu', a base without an experiment in it"
    )
    assert f"bundler freeze proof/<category>/<kernel> --base {tmp_path}/base -o FILE" in error.value.hint
    write_layout(freeze(small.load(), base).image, tmp_path / "bundle")
    with opened(tmp_path / "bundle") as bundle:
        assert bundle.loaded.experiment.id == ID
