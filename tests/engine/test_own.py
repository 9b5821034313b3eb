"""Without an engine: the bundle's own layers, unpacked and run; or the installed replayer in their place."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import bundler.engine.verify as engine
from bundler.bundle.content import replayer_entries
from bundler.bundle.freeze import freeze
from bundler.bundle.unpack import Parts
from bundler.engine.confined import NotConfined
from bundler.engine.folder import Folder
from bundler.engine.process import Places, Started
from bundler.engine.target import Archive
from bundler.engine.verify import verified
from bundler.errors import BadBundle, BadEvidence, UnavailableError, UsageError
from bundler.model.evidence import Evidence, evidence_json
from bundler.oci.archive import write_archive
from bundler.oci.tree import Entry
from bundler.replay.request import Request, Step, Watch
from tests.engine.conftest import ONE, Recorded, changed, options, other_version, plan
from tests.engine.processes import running_from, wait_until
from tests.small import Small, answer

pytestmark = pytest.mark.torch


def test_the_same_files_run_in_a_process_of_their_own(
    archive: Callable[[Sequence[Entry]], Archive], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "replay", lambda *_: pytest.fail("the installed replayer ran"))
    steps: list[Step] = []
    request = replace(ONE, cases=None)
    target = archive(replayer_entries())
    with verified(target, lambda _: request, options(Watch(steps.append))) as replayed:
        assert replayed.evidence.subject.replayer_from == "bundle"
        assert replayed.evidence.complete
        assert replayed.evidence.grounds["interpreter"].cells["with-skill/01"]["n=1"].outcome == "passed"
    assert replayed.notes[-1] == "by the bundle's own replayer, unpacked; it is, byte for byte, this bundler"
    assert {step.ground: step.done for step in steps} == {"interpreter": 6}
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("way")
def test_another_replayer_is_run_confined(
    archive: Callable[[Sequence[Entry]], Archive], temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the CPU's grounds; its own workers are confined as ever, within it."""
    monkeypatch.setattr(engine, "replay", lambda *_: pytest.fail("the installed replayer ran"))
    request = replace(ONE, architectures=(90,))
    with verified(archive(other_version()), lambda _: request, options()) as replayed:
        evidence = replayed.evidence
    assert evidence.complete
    assert (evidence.subject.replayer_from, evidence.subject.replayer) == ("bundle", "9.9.9")
    for ground in ("interpreter", "compile:sm_90"):
        assert evidence.grounds[ground].cells["with-skill/01"]["n=1"].outcome == "passed"
        isolation = evidence.grounds[ground].isolation
        assert (isolation["landlock"], isolation["seccomp"]) == ("held", "held")
    assert replayed.notes[-1] == (
        "by the bundle's own replayer, unpacked and confined; it is not this bundler: "
        "1 file differs, bundler/__init__.py"
    )
    assert list(temporary.iterdir()) == []


def test_where_it_cannot_be_confined_it_is_not_run(
    archive: Callable[[Sequence[Entry]], Archive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def nowhere(request: Request, places: Places) -> Iterator[Started]:
        raise NotConfined("landlock: this kernel has no Landlock")
        yield

    monkeypatch.setattr(engine, "confined", nowhere)
    ran = tmp_path / "ran"
    evil = changed("__main__.py", lambda data: f"open({str(ran)!r}, 'w')\n".encode() + data)
    with verified(archive(evil), lambda _: ONE, options()) as replayed:
        assert replayed.evidence.subject.replayer_from == "installed"
    assert not ran.exists()
    assert replayed.notes[-1] == (
        "by the installed bundler: the bundle's own replayer is another and cannot be confined here "
        "(landlock: this kernel has no Landlock); --own-replayer runs it unconfined; "
        "1 file differs, __main__.py"
    )


@pytest.mark.slow
def test_another_replayer_is_run_where_the_user_says_so(
    archive: Callable[[Sequence[Entry]], Archive], temporary: Path, tmp_path: Path
) -> None:
    """And it is all its own: neither it nor the processes that it starts import what is installed."""
    worker, replay = "bundler/worker/zygote.py", "bundler/replay/zygote.py"
    imported = tmp_path / "imported"
    mark = f"\nimport os\nopen({str(imported)!r}, 'a').write(f'{{os.getpid()}} {{__name__}}\\n')\n".encode()
    files = {e.path: e.data + mark * (e.path in (worker, replay)) for e in other_version()}
    both = [Entry(path, data) for path, data in files.items()]
    with verified(archive(both), lambda _: ONE, options(own=True)) as replayed:
        assert replayed.evidence.subject.replayer_from == "bundle"
        assert replayed.evidence.subject.replayer == "9.9.9"
    assert replayed.notes[-1] == (
        "by the bundle's own replayer, unconfined, as --own-replayer asks; it is not this bundler: "
        f"3 files differ, bundler/__init__.py, {replay}, {worker}"
    )
    assert list(temporary.iterdir()) == []
    marks = [line.split() for line in imported.read_text().splitlines()]
    asking = {pid for pid, module in marks if module == "bundler.replay.zygote"}
    starting = {pid for pid, module in marks if module == "bundler.worker.zygote"}
    assert len(asking) == 1
    assert starting - asking


def test_a_folder_has_no_replayer(recorded: Recorded) -> None:
    target = Folder(recorded.small.folder)
    with (
        pytest.raises(UsageError, match="is a folder, which has no replayer"),
        verified(target, plan, options(own=True)),
    ):
        pass


# --- strangers -------------------------------------------------------------------------------------------

ANSWER = "import pathlib, sys\npathlib.Path(sys.argv[sys.argv.index('--json') + 1]).write_bytes({data!r})\n"


@pytest.mark.parametrize(
    ("program", "kind", "said"),
    [
        ("raise SystemExit(3)", BadBundle, "ended with 3 and gave no evidence"),
        ("raise SystemExit(6)", UnavailableError, "ended with 6 and gave no evidence"),
        (ANSWER.format(data=b"hello"), BadEvidence, "is no evidence"),
    ],
)
def test_no_answer(
    archive: Callable[[Sequence[Entry]], Archive], program: str, kind: type[Exception], said: str
) -> None:
    target = archive([Entry("__main__.py", program.encode())])
    with pytest.raises(kind, match=said), verified(target, lambda _: ONE, options(own=True)):
        pass


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("own", [True, False])
def test_an_answer_to_another_request(
    archive: Callable[[Sequence[Entry]], Archive], recorded: Recorded, own: bool
) -> None:
    data = evidence_json(recorded.loaded.recorded[0][1])
    target = archive([Entry("__main__.py", ANSWER.format(data=data).encode())])
    with (
        pytest.raises(BadEvidence, match="the bundle's replayer answered for the grounds"),
        verified(target, lambda _: ONE, options(own=own)),
    ):
        pass


DEEP = "import os\nfor _ in range(1500):\n    os.mkdir('a')\n    os.chdir('a')\nraise SystemExit(3)\n"


def test_a_scratch_as_deep_as_it_likes(
    archive: Callable[[Sequence[Entry]], Archive], temporary: Path
) -> None:
    target = archive([Entry("__main__.py", DEEP.encode())])
    with (
        pytest.raises(BadBundle, match="ended with 3"),
        verified(target, lambda _: ONE, options(own=True)),
    ):
        pass
    assert list(temporary.iterdir()) == []


LEFT = "import os, sys\nnow = sys.argv[sys.argv.index('--json') + 1]\n{leaves}\n"


@pytest.mark.parametrize(
    ("leaves", "said"),
    [
        ("os.mkfifo(now)", "cannot be read: not a regular file"),
        ("os.mkdir(now)", "cannot be read: "),
        ("os.symlink('/dev/zero', now)", "cannot be read: "),
    ],
)
def test_what_is_no_file_is_not_waited_for(
    archive: Callable[[Sequence[Entry]], Archive], temporary: Path, leaves: str, said: str
) -> None:
    target = archive([Entry("__main__.py", LEFT.format(leaves=leaves).encode())])
    with pytest.raises(BadEvidence, match=said), verified(target, lambda _: ONE, options(own=True)):
        pass
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("does", ["time.sleep(60)", "while time.time() < {until}: os.write(2, bytes(9999))"])
def test_what_it_started_is_not_waited_for_and_ends_with_it(
    archive: Callable[[Sequence[Entry]], Archive], tmp_path: Path, does: str
) -> None:
    """Its stderr stays open, and may be written on, when it has ended."""
    begun = time.monotonic()
    child = "import os, time\n" + does.format(until=time.time() + 60)
    command = f"[sys.executable, '-c', {child!r}, {str(tmp_path / 'child')!r}]"
    program = f"import subprocess, sys\nsubprocess.Popen({command})\nraise SystemExit(3)\n"
    target = archive([Entry("__main__.py", program.encode())])
    with pytest.raises(BadBundle, match="ended with 3"), verified(target, lambda _: ONE, options(own=True)):
        pass
    assert time.monotonic() - begun < 30
    wait_until(lambda: not running_from(tmp_path))


# --- cut short -------------------------------------------------------------------------------------------

SLEEPER = b"import time\nimport torch\n\n\ndef double(x):\n    time.sleep(0.5)\n    return x + x\n"


@pytest.fixture
def slow(checkout: Small, tmp_path: Path) -> Archive:
    checkout.declared["evidence"] = []
    checkout.arm("without-skill")["outputs"] = [checkout.file("outputs/without-skill/01.md", answer(SLEEPER))]
    write_archive(freeze(checkout.load(), None).image, tmp_path / "slow.tar", reference="x:1")
    return Archive(tmp_path / "slow.tar")


@pytest.mark.slow
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("others", [[], ["one.py"]], ids=["same", "confined"])
def test_ctrl_c_leaves_what_it_had(
    slow: Archive, temporary: Path, others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Parts, "other_files", lambda _: others)

    def step(now: Step) -> None:
        if now.done == 4:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    request = Request(device=False, jobs=1)
    with verified(slow, lambda _: request, options(Watch(step))) as replayed:
        cells = replayed.evidence.grounds["interpreter"].cells
    assert not replayed.evidence.complete
    assert cells["control-right/control-right"]["n=1"].outcome == "passed"
    assert cells["with-skill/01"]["n=100"].outcome == "not-run"
    assert list(temporary.iterdir()) == []


def test_ctrl_c_before_it_had_a_cell(archive: Callable[[Sequence[Entry]], Archive], temporary: Path) -> None:
    target = archive([Entry("__main__.py", b"import time\ntime.sleep(60)\n")])
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt), verified(target, lambda _: ONE, options(own=True)):
        pass
    assert list(temporary.iterdir()) == []


def test_sigkill_ends_the_replay_too(slow: Archive, tmp_path: Path) -> None:
    """Its processes, and, but for what the killed one itself had in the temporary folder, its files."""
    command = [sys.executable, "-m", "bundler", "verify", str(slow.path), "--engine", "host", "--no-gpu"]
    folder = tmp_path / "t"
    folder.mkdir()
    environment = os.environ | {"TMPDIR": str(folder)}
    asker = subprocess.Popen([*command, "--json", str(tmp_path / "e.json")], env=environment)
    wait_until(lambda: bool(running_from(folder)))
    asker.kill()
    asker.wait()
    wait_until(lambda: not running_from(folder))
    assert list(folder.glob("bundler-*/tmp/*")) == []


def test_evidence_is_passed_on_as_it_grows(
    archive: Callable[[Sequence[Entry]], Archive], recorded: Recorded
) -> None:
    """What a SIGKILL of the asker leaves on its disk is what the replayer had written by then."""
    data = evidence_json(recorded.loaded.recorded[0][1])
    progress = json.dumps({"ground": "interpreter", "done": 1, "total": 8})
    program = ANSWER.format(data=data) + f"print('@progress ' + {progress!r}, file=sys.stderr)\n"
    passed: list[Evidence] = []
    watch = Watch(checkpoint=passed.append)
    target = archive([Entry("__main__.py", program.encode())])
    with verified(target, plan, options(watch, own=True)):
        assert [each.subject.replayer_from for each in passed] == ["bundle"]
