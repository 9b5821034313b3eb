"""A small bundle with evidence that this machine recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bundler.bundle.content import BUNDLE_PREFIX, REPLAYER_PREFIX, experiment_entries, replayer_entries
from bundler.bundle.freeze import ENTRYPOINT
from bundler.engine.replayed import Engine, Options
from bundler.engine.target import Archive
from bundler.experiment.load import Loaded
from bundler.oci.archive import write_archive
from bundler.oci.image import append
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from tests.engine.ways import NAMESPACE, WAYS, leave_to_a_namespace
from tests.small import Small

REQUEST = Request(device=False, interpreter=True, architectures=(90,), jobs=2)
ONE = Request(device=False, candidates=("with-skill/01",), cases=("n=1",), jobs=2)


def plan(loaded: Loaded) -> Request:
    """What every test of this folder asks for."""
    return REQUEST


@dataclass(frozen=True)
class Recorded:
    """The experiment's builder and what it loads as."""

    small: Small
    loaded: Loaded


@pytest.fixture(scope="package")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """One experiment, replayed once; tests leave it as it is."""
    small = Small(tmp_path_factory.mktemp("recorded"))
    small.record(replay(small.load(), REQUEST, Watch()))
    return Recorded(small, small.load())


@pytest.fixture
def checkout(recorded: Recorded, tmp_path: Path) -> Small:
    """A copy of it, to be changed."""
    copy = Small(tmp_path / "copy")
    copy.record((recorded.small.folder / "evidence/host.json").read_bytes())
    return copy


def options(watch: Watch | None = None, said: list[str] | None = None, *, own: bool = False) -> Options:
    say = said.append if said is not None else lambda line: None
    return Options(engine=Engine.HOST, gpu=False, watch=watch or Watch(), say=say, own_replayer=own)


@pytest.fixture(params=[WAYS[0], pytest.param(NAMESPACE, marks=[*WAYS[1].marks, pytest.mark.slow])])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a confined replayer's signals are kept inside. A whole replayer in a namespace is among the slow
    tests; a warden in one is not."""
    if request.param == NAMESPACE:
        leave_to_a_namespace(monkeypatch)
    return str(request.param)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What takes the temporary files; a test looks whether any is left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.fixture
def archive(recorded: Recorded, tmp_path: Path) -> Callable[[Sequence[Entry]], Archive]:
    """A bundle of the recorded experiment with another replayer."""

    def archive(replayer: Sequence[Entry]) -> Archive:
        layers = [
            build_layer(replayer, REPLAYER_PREFIX),
            build_layer(experiment_entries(recorded.loaded), BUNDLE_PREFIX),
        ]
        image = append(
            None, layers, entrypoint=ENTRYPOINT, cmd=[], user="1:1", working_dir="/", env={}, labels={}
        )
        write_archive(image, tmp_path / "x.tar", reference="x:1")
        return Archive(tmp_path / "x.tar")

    return archive


def changed(path: str, change: Callable[[bytes], bytes]) -> list[Entry]:
    """This bundler's files, one of them another."""
    return [Entry(e.path, change(e.data)) if e.path == path else e for e in replayer_entries()]


def other_version() -> list[Entry]:
    return changed("bundler/__init__.py", lambda data: data + b'\n__version__ = "9.9.9"\n')
