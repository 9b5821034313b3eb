"""A replay on this machine's own Python, from every kind of target."""

from __future__ import annotations

import gc
import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bundler.bundle.freeze import freeze
from bundler.digest import Digest
from bundler.engine import address
from bundler.engine.folder import Folder
from bundler.engine.replayed import Engine, Options, Replayed
from bundler.engine.target import Archive, ImageName, Target
from bundler.engine.verify import verified
from bundler.errors import ExitCode, UnavailableError, UsageError
from bundler.experiment.load import Loaded
from bundler.judge.verdict import exit_code, hold
from bundler.oci.archive import write_archive
from bundler.oci.image import append
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry
from bundler.replay.request import Request, Step, Watch
from tests.engine.conftest import Recorded, plan
from tests.small import Small

pytestmark = pytest.mark.torch


def options(steps: list[Step] | None = None, *, gpu: bool = False) -> Options:
    watch = Watch(steps.append if steps is not None else lambda step: None)
    return Options(engine=Engine.HOST, gpu=gpu, watch=watch, say=lambda line: None)


def code(replayed: Replayed) -> ExitCode:
    return exit_code(
        replayed.evidence, hold(replayed.loaded.experiment, replayed.evidence, replayed.loaded.recorded)
    )


@pytest.fixture
def archive(recorded: Recorded, tmp_path: Path) -> Path:
    write_archive(freeze(recorded.loaded, None).image, tmp_path / "x.tar", reference="x:1")
    return tmp_path / "x.tar"


def test_a_folder_reproduces_what_was_recorded_from_it(recorded: Recorded) -> None:
    steps: list[Step] = []
    with verified(Folder(recorded.small.folder), plan, options(steps)) as replayed:
        verdict = hold(replayed.loaded.experiment, replayed.evidence, replayed.loaded.recorded)
        assert code(replayed) == 0
    assert [(g.ground, len(g.cells), g.ptx_same, g.ptx_other) for g in verdict.grounds] == [
        ("compile:sm_90", 8, 8, 0),
        ("interpreter", 8, 0, 0),
    ]
    assert {step.ground: step.done for step in steps} == {"compile": 8, "interpreter": 8}
    assert replayed.notes == ()
    assert replayed.evidence.subject.bundle is None


def test_an_archive_on_this_machines_python(recorded: Recorded, archive: Path) -> None:
    one = replace(plan(recorded.loaded), architectures=(), candidates=("with-skill/01",), cases=("n=1",))
    with verified(Archive(archive), lambda loaded: one, options()) as replayed:
        assert code(replayed) == 0
        assert replayed.loaded.folder.is_dir()
    assert replayed.evidence.subject.bundle == freeze(recorded.loaded, None).image.digest
    assert replayed.notes == (
        "run by this machine's own Python, torch and triton, not in the pinned runtime",
        "by the bundle's own replayer, unpacked; it is, byte for byte, this bundler",
    )
    assert not replayed.loaded.folder.exists()


def test_without_the_gpu_the_device_is_left_out_and_that_is_said(recorded: Recorded) -> None:
    one = replace(plan(recorded.loaded), device=True, architectures=(), cases=("n=1",))
    with verified(Folder(recorded.small.folder), lambda loaded: one, options(gpu=False)) as replayed:
        assert list(replayed.evidence.grounds) == ["interpreter"]
        assert replayed.notes == ("the device ground was left out: --no-gpu",)


@pytest.mark.slow
def test_an_outcome_that_was_recorded_otherwise_differs(checkout: Small) -> None:
    file = checkout.folder / "evidence/host.json"
    value = json.loads(file.read_bytes())
    value["grounds"]["interpreter"]["cells"]["with-skill/01"]["n=100"] = {
        "outcome": "timed-out",
        "limit_seconds": 1,
    }
    file.write_text(json.dumps(value))
    checkout.write()
    with verified(Folder(checkout.folder), plan, options()) as replayed:
        assert code(replayed) == 1


@pytest.mark.slow
def test_a_kernel_that_was_swapped_with_every_digest_differs(checkout: Small) -> None:
    """One who corrects all digests gets past the list, and not past the replay."""
    wrong = checkout.folder / "controls/control-wrong.py"
    arm = checkout.arm("with-skill")
    source = wrong.read_bytes()
    arm["outputs"] = [checkout.file("outputs/with-skill/01.md", b"```python\n" + source + b"```\n")]
    file = checkout.folder / "evidence/host.json"
    value = json.loads(file.read_bytes())
    value["subject"]["candidates"]["with-skill/01"] = Digest.of(source)
    file.write_text(json.dumps(value))
    checkout.write()
    with verified(Folder(checkout.folder), plan, options()) as replayed:
        verdict = hold(replayed.loaded.experiment, replayed.evidence, replayed.loaded.recorded)
        assert code(replayed) == 1
    differing = {
        (c.candidate, c.case, g.ground) for g in verdict.grounds for c in g.cells if c.judgement == "differs"
    }
    assert differing == {("with-skill/01", case, "interpreter") for case in ("n=1", "n=100")}
    assert [(g.ptx_same, g.ptx_other) for g in verdict.grounds if g.ground != "interpreter"] == [(6, 2)]


@pytest.fixture
def no_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    yield
    gc.collect()  # docker's client leaves its socket to the collector when nothing answers


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("no_docker")
@pytest.mark.parametrize(
    ("target", "engine", "said"),
    [
        (Archive(Path("x.tar")), Engine.DOCKER, "x.tar' has no runtime, as freeze --bare makes it"),
        (ImageName("x:1"), Engine.AUTO, "no Docker engine answers"),
        (ImageName("x:1"), Engine.HOST, "'x:1' is no file or folder here"),
    ],
)
def test_no_engine(archive: Path, target: Target, engine: Engine, said: str) -> None:
    how = replace(options(), engine=engine)
    there = Archive(archive) if isinstance(target, Archive) else target
    with pytest.raises(UnavailableError, match=said), verified(there, plan, how):
        pass


@pytest.fixture
def based(recorded: Recorded, tmp_path: Path) -> Path:
    """A bundle with a runtime, which Docker could run."""
    layer = build_layer([Entry("bin/sh", b"")])
    base = append(None, [layer], entrypoint=[], cmd=[], user="", working_dir="/", env={}, labels={})
    write_archive(freeze(recorded.loaded, base).image, tmp_path / "based.tar", reference="x:1")
    return tmp_path / "based.tar"


def _said(target: Path) -> list[str]:
    """What auto mode says; nothing is asked for, so nothing runs."""
    said: list[str] = []
    how = replace(options(), engine=Engine.AUTO, say=said.append)
    nothing = Request(device=False, interpreter=False)
    with verified(Archive(target), lambda loaded: nothing, how) as replayed:
        assert any("by this machine's own Python" in note for note in replayed.notes)
    return said


SO = "; this machine's own Python judges instead"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("no_docker")
@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("unix://{}/nothing.sock", "No such file or directory"),
        ("unix://{}/deaf.sock", "Connection refused"),
        ("nonsense", "Invalid bind address format: port is required: nonsense"),
        ("tcp://x:abc", "Port could not be cast to integer value as 'abc'"),
    ],
)
def test_a_docker_that_was_named_and_does_not_answer_is_told(
    based: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, why: str
) -> None:
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(f"{tmp_path}/deaf.sock")  # as dockerd leaves it: there, and nobody listens
    named = host.format(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", named)
    assert _said(based) == [f"no Docker engine answers at {named}: {why}{SO}"]
    assert _said(archive) == [], "a bare bundle needs none"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("there", [True, False])
def test_docker_is_missed_only_where_its_socket_is(
    based: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(address, "SOCKET", tmp_path / "docker.sock")
    monkeypatch.setitem(sys.modules, "bundler.engine.docker", None)
    if there:
        (tmp_path / "docker.sock").touch()
    assert _said(based) == ([f"the Python package docker is not installed{SO}"] if there else [])


def test_a_folder_has_no_container(recorded: Recorded) -> None:
    """Who asks for an engine by name wants to be kept apart."""
    how = replace(options(), engine=Engine.DOCKER)
    target = Folder(recorded.small.folder)
    with pytest.raises(UsageError, match="is a folder, which has no container"), verified(target, plan, how):
        pass


def test_nothing_that_was_asked_for_is_left_without_the_gpu(recorded: Recorded) -> None:
    def device(loaded: Loaded) -> Request:
        return replace(plan(loaded), device=True, interpreter=False, architectures=())

    target = Folder(recorded.small.folder)
    with (
        pytest.raises(UsageError, match="--no-gpu leaves out the only ground"),
        verified(target, device, options(gpu=False)),
    ):
        pass
