"""Real processes: a harness's worker executes what it is given, so that it can stand for any candidate."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler.replay.allowance import Allowance, readable_paths
from bundler.replay.guard import watch_state
from bundler.replay.process import SpawnFailed, Worker
from bundler.replay.zygote import Zygote
from bundler.worker import sandbox, wire
from bundler.worker import zygote as zygote_module

ALLOWANCE = Allowance(memory_bytes=300 << 20, scratch_bytes=20 << 20)
LIMITS = wire.Limits(payload_bytes=1 << 20)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote("oracle") as one:
        yield one


@pytest.fixture
def worker(zygote: Zygote) -> Iterator[Worker]:
    one = zygote.spawn(ALLOWANCE)
    one.hello(30)
    yield one
    with contextlib.suppress(OSError):  # a test closed it
        one.close()


def _run(worker: Worker, code: str, seconds: float = 20) -> str:
    """What ``code`` raised in the worker, in words; empty when it came to its end."""
    message = worker.ask({"op": "load"}, [code.encode()], seconds=seconds, limits=LIMITS)
    raised = message.header["raised"]
    return "" if raised is None else str(raised["errors"][0][1])


FORGE = """
import json, os, struct
def forge(header, payload=b""):
    text = json.dumps(header).encode()
    os.write(4, struct.pack("<4sIQ", b"BNDL", len(text), len(payload)) + text + payload)
"""


def test_ask_and_answer(worker: Worker) -> None:
    assert _run(worker, "x = 1") == ""
    assert _run(worker, "raise ValueError(x)") == "1"
    assert worker.isolation["no-new-privs"] == "held"


OWN_NUMBER = """
import sys
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
number = frame.f_locals["request"]["number"]
"""


def test_a_second_answer_is_not_taken_for_the_next_request(worker: Worker) -> None:
    """The worker's own answer still lies in the pipe when the next request is to be sent, or comes late."""
    assert _run(worker, FORGE + OWN_NUMBER + "forge({'raised': None, 'number': number})") == ""
    with pytest.raises(wire.WireError, match=r"before it was asked|it answered request"):
        _run(worker, "x = 1")


def test_what_lies_in_the_pipe_was_not_asked_for(worker: Worker) -> None:
    _run(worker, FORGE + "import threading; threading.Timer(0.05, forge, [{'raised': None}]).start()")
    time.sleep(0.5)
    with pytest.raises(wire.WireError, match="before it was asked"):
        _run(worker, "x = 1")


@pytest.mark.parametrize("number", ["None", "0", "1", "''", "[1]", "{}", "'0000000000000000'"])
def test_an_answer_repeats_the_number(worker: Worker, number: str) -> None:
    with pytest.raises(wire.WireError, match="it answered request"):
        _run(worker, FORGE + f"forge({{'raised': None, 'number': {number}}})")


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ("import os; os._exit(0)", "ended with status 0"),
        ("import os; os._exit(3)", "ended with status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL"),
        ("import ctypes; ctypes.string_at(8)", "ended by SIGSEGV"),
        ("import os; os.abort()", "ended by SIGABRT"),
    ],
)
def test_how_it_ended(worker: Worker, code: str, detail: str) -> None:
    with pytest.raises(wire.PeerGone):
        _run(worker, code)
    ended = worker.close()
    assert (ended.detail, ended.over) == (detail, "")


def test_one_that_has_ended_is_not_asked(worker: Worker) -> None:
    code = "forge({'raised': None, 'number': number}); forge({'raised': None, 'number': number}); os._exit(0)"
    assert _run(worker, FORGE + OWN_NUMBER + code) == ""
    with pytest.raises(wire.WireError):
        _run(worker, "x = 1")


def test_an_endless_request(worker: Worker) -> None:
    started = time.monotonic()
    with pytest.raises(wire.DeadlinePassed):
        _run(worker, "while True: pass", seconds=0.5)
    assert worker.close().detail == "ended by SIGKILL"
    assert time.monotonic() - started < 5


SHARED = """
import mmap
held = []
for _ in range(64):
    held.append(mmap.mmap(-1, 16 << 20))
    held[-1].write(b"x" * (16 << 20))
"""


TABLES = """
import mmap
private_anonymous_unreserved, no_huge_pages = 0x4022, 15
seen = mmap.mmap(-1, 400 << 30, flags=private_anonymous_unreserved, prot=mmap.PROT_READ)
seen.madvise(no_huge_pages)
for at in range(0, 400 << 30, 2 << 20):
    seen[at]
"""


DEEPEST = """
import os
for _ in range(20):
    os.mkdir("a" * 250)
    os.chdir("a" * 250)
open("file", "w").close()
"""


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = [bytearray(b'x' * (16 << 20)) for _ in range(64)]", "MiB of memory, over 300 MiB"),
        (SHARED, "MiB of memory, over 300 MiB"),
        (TABLES, "MiB of memory, over 300 MiB"),
        ("for n in range(8): open(str(n), 'wb').write(b'x' * (8 << 20))", "MiB to its folder, over 20 MiB"),
        ("for n in range(9000): open(str(n), 'w').close()", "MiB to its folder, over 20 MiB"),
        (DEEPEST, "what cannot be counted in its folder: File name too long"),
        pytest.param(
            "import os; os.mkdir('x', 0o300)",
            "what cannot be counted in its folder: Permission denied",
            marks=pytest.mark.skipif(os.getuid() == 0, reason="nothing is closed to root"),
        ),
    ],
    ids=[
        "private memory",
        "shared memory",
        "page tables",
        "disk",
        "empty files",
        "a long way",
        "closed",
    ],
)
def test_what_it_may_not_use(worker: Worker, code: str, says: str) -> None:
    with pytest.raises(wire.PeerGone):
        _run(worker, code + "\nimport time; time.sleep(60)")
    assert says in worker.close().over


def test_processes_are_counted_as_well(zygote: Zygote) -> None:
    worker = zygote.spawn(Allowance(memory_bytes=64 << 30))
    worker.hello(30)
    with pytest.raises(wire.PeerGone):
        _run(worker, "import os, time\nfor _ in range(600): os.fork() or time.sleep(60)\ntime.sleep(60)")
    assert "threads, over 512" in worker.close().over


DEEP = """
import os
for _ in range(1100):
    os.mkdir("a")
    os.chdir("a")
"""


def test_a_folder_as_deep_as_it_likes(worker: Worker) -> None:
    """Neither the watch nor the removal ends the replay."""
    assert _run(worker, DEEP) == ""
    time.sleep(0.5)
    with pytest.raises(wire.PeerGone):
        _run(worker, "x = [bytearray(b'x' * (16 << 20)) for _ in range(64)]\nimport time; time.sleep(60)")
    assert "MiB of memory" in worker.close().over
    assert not worker._scratch.exists()


def test_threads_are_counted_as_well(zygote: Zygote) -> None:
    """A container's limit on them is the judge's too."""
    worker = zygote.spawn(Allowance(memory_bytes=64 << 30))
    worker.hello(30)
    start = (
        "import threading, time\nfor _ in range(600): threading.Thread(target=time.sleep, args=(60,)).start()"
    )
    with pytest.raises(wire.PeerGone):
        _run(worker, f"{start}\ntime.sleep(60)")
    assert "threads, over 512" in worker.close().over


def test_the_judge_waits_for_a_thread(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another candidate has them all, until its guard sees that; for longer, the cell has no outcome."""
    refusals = iter(range(3))
    start = threading.Thread.start

    def refuse(self: threading.Thread) -> None:
        for _ in refusals:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert _run(worker, "x = 1") == ""
    refusals = iter(range(1000))
    monkeypatch.setattr("bundler.replay.process._START_S", 0)
    with pytest.raises(SpawnFailed, match="could start no thread"):
        _run(worker, "x = 1")


def test_output_is_drained_and_capped(worker: Worker) -> None:
    assert _run(worker, "print('passed ' * 3_000_000, flush=True)") == ""
    worker.close()
    assert worker.printed == (b"passed " * 1000)[:4000]


def _is_gone(pid: int) -> bool:
    """Whether a process ends within five seconds; one that nobody waited for has ended."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            return True
        if state == b"Z":
            return True
        time.sleep(0.01)
    return False


def test_its_children_die_with_it(worker: Worker) -> None:
    code = "import os, time\nchild = os.fork()\nif child == 0: time.sleep(600)\nraise ValueError(child)"
    child = int(_run(worker, code))
    assert Path(f"/proc/{child}").exists()
    worker.close()
    assert _is_gone(child)


def test_a_child_that_holds_the_pipe_does_not_hold_the_judge(worker: Worker) -> None:
    with pytest.raises(wire.PeerGone):
        _run(worker, "import os, time\nif os.fork() == 0: time.sleep(600)\nos._exit(0)", seconds=20)


def test_each_has_folders_and_caches_of_its_own(zygote: Zygote) -> None:
    code = "import os; raise ValueError([os.getcwd(), os.environ['TRITON_CACHE_DIR'], os.environ['HOME']])"
    seen: list[str] = []
    for _ in range(2):
        worker = zygote.spawn(ALLOWANCE)
        worker.hello(30)
        seen += eval(_run(worker, code))
        folder = Path(seen[-1])
        assert folder.is_dir()
        worker.close()
        assert not folder.exists()
    assert len(set(seen)) == 4  # two folders, two caches


def test_nothing_of_the_callers_environment_or_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "secret")
    with Zygote("oracle") as zygote, Path("/etc/hostname").open() as inherited:
        os.set_inheritable(inherited.fileno(), True)
        worker = zygote.spawn(ALLOWANCE)
        worker.hello(30)
        code = "import os; raise ValueError([sorted(os.environ), sorted(os.listdir('/proc/self/fd'))])"
        names, descriptors = eval(_run(worker, code))
        worker.close()
    assert "REGISTRY_TOKEN" not in names
    # Its own five, the one that listdir opened, and the one that keeps its folder in /proc.
    assert len(descriptors) <= 7


def test_other_processes_are_closed_to_it(worker: Worker) -> None:
    tries = f"for name in ('mem', 'environ', 'cmdline', 'maps'): open('/proc/{os.getpid()}/' + name).close()"
    assert "ermission denied" in _run(worker, tries)


def test_a_fork_that_fails_is_no_candidates_fault(tmp_path: Path) -> None:
    """A zygote that answers as the real one does when the process table is full."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    zygote = Zygote.__new__(Zygote)
    zygote._lock, zygote._control, zygote._flavour = threading.Lock(), ours, "oracle"
    zygote._scratch = tmp_path

    def answer() -> None:
        while theirs.recv(1 << 16):
            theirs.send(b'{"pid": null, "why": "Resource temporarily unavailable"}')

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with pytest.raises(SpawnFailed, match="Resource temporarily unavailable"):
            zygote.spawn(ALLOWANCE)
    finally:
        ours.close()
        thread.join()
        theirs.close()
    assert list(tmp_path.iterdir()) == []


def test_what_left_its_group_is_killed_all_the_same() -> None:
    """Where no filter keeps a worker from leaving its group: a session of its own, in a grandchild."""
    read, write = os.pipe()
    holder = os.fork()
    if holder == 0:
        sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
        zygote = zygote_module._Zygote.__new__(zygote_module._Zygote)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            if os.fork() == 0:
                os.setsid()
                os.write(write, str(os.getpid()).encode())
                time.sleep(600)
            time.sleep(0.2)
            os._exit(5)
        zygote._workers = {child: None}
        status = zygote._wait(child)
        os._exit(0 if status is not None and os.waitstatus_to_exitcode(status) == 5 else 1)
    os.close(write)
    stray = int(os.read(read, 20))
    os.close(read)
    assert os.waitpid(holder, 0)[1] == 0
    assert _is_gone(stray)


def test_the_zygotes_end_ends_its_workers() -> None:
    zygote = Zygote("oracle")
    worker = zygote.spawn(ALLOWANCE)
    worker.hello(30)
    pid = worker._pid
    zygote.close()
    assert _is_gone(pid)


def test_a_worker_cannot_read_experiments_or_bundlers_checkout() -> None:
    checkout = Path(__file__).parents[2]
    assert not any(checkout.is_relative_to(path) for path in readable_paths())
    assert "/etc" not in readable_paths()
    assert "/proc" not in readable_paths()


def test_a_folder_with_a_clone_is_none_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triton/python/triton").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert str(tmp_path) not in readable_paths()
    (tmp_path / "triton/__init__.py").touch()
    assert str(tmp_path) in readable_paths()


def test_the_watch_is_reported() -> None:
    assert watch_state() == "held"
