"""The experiment of an image that Docker has: read from outside, by every command that reads one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, experiment_entries, replayer_entries
from bundler.bundle.freeze import ENTRYPOINT, freeze
from bundler.engine.folder import Folder
from bundler.engine.reading import experiment_of, in_docker
from bundler.engine.replayed import Engine, Options
from bundler.engine.target import Archive, ImageName
from bundler.engine.verify import verified
from bundler.errors import BadBundle, UnavailableError, UsageError
from bundler.model.evidence import evidence_json
from bundler.oci.archive import write_archive
from bundler.oci.image import Image, append
from bundler.oci.layer import Layer, build_layer
from bundler.oci.tree import Entry
from bundler.replay.request import Request, Watch
from tests.small import ID, Small, evidence, ground

ROOT = Path(__file__).parents[2]
docker = [
    pytest.mark.docker,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
STARTED = b"raise SystemExit('it ran')\n"


def test_what_is_on_disk(small: Small, tmp_path: Path) -> None:
    folder = small.write()
    write_archive(freeze(small.load(), None).image, tmp_path / "x.tar", reference="x:1")
    for target in (Folder(folder), Archive(tmp_path / "x.tar")):
        with experiment_of(target) as loaded:
            assert loaded.experiment.id == ID
            assert (loaded.folder / "harness.py").is_file()


def test_a_name_without_an_engine_is_not_told_to_use_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only an engine knows what a name stands for."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    options = Options(engine=Engine.AUTO, gpu=False, watch=Watch(), say=lambda _: None)
    target = ImageName("some/bundle:1")
    for asked in (experiment_of(target), verified(target, lambda _: Request(), options)):
        with pytest.raises(UnavailableError, match="'some/bundle:1' is an image's name") as raised, asked:
            pass
        assert "docker save some/bundle:1 -o FILE" in raised.value.hint
        assert "--engine host" not in raised.value.hint


# --- by name: a bare bundle will do, since nothing of it runs ---------------------------------------------


def _load(image: Image, name: str, tmp_path: Path) -> str:
    """Docker takes it without a runtime too."""
    write_archive(image, tmp_path / "image.tar", reference=name)
    with (tmp_path / "image.tar").open("rb") as tar:
        subprocess.run(["docker", "load"], stdin=tar, capture_output=True, check=True)
    return name


@pytest.fixture
def recorded(small: Small) -> Small:
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}))
    return small


@pytest.fixture
def name(recorded: Small, tmp_path: Path) -> Iterator[str]:
    name = "bundler-test-reading:1"
    yield _load(freeze(recorded.load(), None).image, name, tmp_path)
    subprocess.run(["docker", "rmi", "--force", name], capture_output=True, check=False)


def bundler(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bundler", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


class TestByName:
    """With Docker."""

    pytestmark = docker

    def test_an_images_name(self, name: str, recorded: Small) -> None:
        with experiment_of(ImageName(name)) as loaded:
            assert loaded.experiment == recorded.load().experiment
            assert loaded.folder.is_dir()
        assert not loaded.folder.exists()
        left = subprocess.run(
            ["docker", "ps", "-aq", "--filter", f"ancestor={name}"], capture_output=True, check=True
        )
        assert left.stdout == b""

    def test_the_replayer_is_what_a_tar_says_it_is(self, name: str, recorded: Small) -> None:
        frozen = freeze(recorded.load(), None).image
        with in_docker(name) as image:
            assert image.replayer_layer == frozen.layers[0].diff_id
            assert image.labels == frozen.config.labels

    def test_no_image_of_that_name(self) -> None:
        with (
            pytest.raises(UsageError, match="is neither a file here nor an image that Docker has"),
            experiment_of(ImageName("bundler-test-nowhere:1")),
        ):
            pass

    def test_show_report_and_extract(self, name: str, tmp_path: Path) -> None:
        shown = bundler("show", name)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "recorded evidence/host.json" in shown.stdout
        assert ID in bundler("report", name).stdout
        assert bundler("extract", tmp_path / "out", "--from", name).returncode == 0
        assert (tmp_path / "out/candidates/with-skill/01.py").is_file()

    def test_compare(self, name: str, recorded: Small, tmp_path: Path) -> None:
        loaded = recorded.load()
        other = evidence(loaded, {"interpreter": ground(loaded)}, started="2026-12-01T12:00:00+00:00")
        (tmp_path / "other.json").write_bytes(evidence_json(other))
        done = bundler("compare", name, tmp_path / "other.json")
        assert done.returncode == 0, done.stderr
        again = bundler("compare", name, recorded.folder)
        assert (again.returncode, "one replay on one host" in again.stderr) == (2, True)

    def test_diff(self, name: str, recorded: Small, tmp_path: Path) -> None:
        write_archive(freeze(recorded.load(), None).image, tmp_path / "same.tar", reference="x:1")
        for same in (name, tmp_path / "same.tar", recorded.folder):
            done = bundler("diff", name, same)
            assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "SAME"), done.stdout + done.stderr
        assert "configuration not compared" in bundler("diff", name, name).stdout

    def test_diff_sees_a_replayer_that_a_later_layer_changes(
        self, name: str, recorded: Small, tmp_path: Path
    ) -> None:
        changed = [e if e.path != "__main__.py" else Entry(e.path, STARTED) for e in replayer_entries()]
        layers = [
            build_layer(replayer_entries(), REPLAYER_PREFIX),
            build_layer(experiment_entries(recorded.load()), BUNDLE_PREFIX),
            build_layer(changed, REPLAYER_PREFIX),
        ]
        other = _load(_image(layers), "bundler-test-reading:2", tmp_path)
        try:
            done = bundler("diff", name, other)
        finally:
            subprocess.run(["docker", "rmi", "--force", other], capture_output=True, check=False)
        assert done.returncode == 1
        assert "replayer" in done.stdout.partition("configuration not compared")[0] + done.stdout
        assert "it ran" not in done.stdout + done.stderr

    def test_an_image_that_is_no_bundle(self, tmp_path: Path) -> None:
        other = _load(_image([build_layer([Entry("x", b"x")], "etc")]), "bundler-test-reading:3", tmp_path)
        try:
            with pytest.raises(BadBundle, match="the image has no /bundle"), experiment_of(ImageName(other)):
                pass
        finally:
            subprocess.run(["docker", "rmi", "--force", other], capture_output=True, check=False)


def _image(layers: list[Layer]) -> Image:
    return append(
        None,
        layers,
        entrypoint=ENTRYPOINT,
        cmd=["verify"],
        user="65534:65534",
        working_dir="/tmp",
        env={},
        labels={},
    )
