"""A bundle's replayer that means harm: what it tries succeeds unconfined, and fails confined."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import bundler
from bundler.engine import confined, gpu_nodes
from bundler.engine.process import Places
from bundler.engine.target import Archive
from bundler.engine.verify import verified
from bundler.errors import BadBundle
from bundler.oci.tree import Entry
from bundler.replay import warden
from bundler.replay.request import Request
from bundler.worker import landlock, sandbox
from tests.engine.conftest import ONE, options
from tests.engine.processes import running_from, wait_until
from tests.engine.ways import NAMESPACE

pytestmark = pytest.mark.torch
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
Run = Callable[[str, bool], list[str]]


@pytest.fixture
def run(archive: Callable[[Sequence[Entry]], Archive], way: str) -> Run:
    """Runs a program as the bundle's replayer, unconfined or confined in each way; what it printed."""

    def run(program: str, own: bool) -> list[str]:
        said: list[str] = []
        target = archive([Entry("__main__.py", program.encode())])
        with (
            pytest.raises(BadBundle, match="ended with 3 and gave no evidence"),
            verified(target, lambda _: ONE, options(said=said, own=own)),
        ):
            pass
        return said

    return run


ATTACKS = """
import ctypes, json, os, socket, sys
where = json.loads({where!r})
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def system(number, *arguments):
    if libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def datagram():
    ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
    ours.sendmsg([b"x"], [], 0, where["datagrams"])

def chmod():
    os.chmod(where["key"], 0o644)
    if os.stat(where["key"]).st_mode & 0o777 != 0o644:
        raise PermissionError(1, "nothing happened")

attacks = {{
    "read a file of the reviewer": lambda: open(where["key"]).read(),
    "list the reviewer's home": lambda: os.listdir(where["home"]),
    "write a file": lambda: open(where["home"] + "/new", "w"),
    "change a mode": chmod,
    "move a file out": lambda: os.link(__file__, where["home"] + "/link"),
    "change its own files": lambda: open(__file__, "a"),
    "connect": lambda: socket.create_connection(("127.0.0.1", where["port"])),
    "send a datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
    "connect to a path": lambda: socket.socket(socket.AF_UNIX).connect(where["stream"]),
    "send to a path": datagram,
    "read an environment": lambda: open(f"/proc/{{where['victim']}}/environ").read(),
    "open a memory": lambda: open(f"/proc/{{where['victim']}}/mem", "rb"),
    "signal a process": lambda: os.kill(where["victim"], 0),
    "signal its parent": lambda: os.kill(os.getppid(), 0),
    "trace a process": lambda: system(101, 0x4206, where["victim"], 0, 0),
    "attach memory": lambda: system(30, where["shared"], None, 0),
    "read a secret": lambda: os.environ["SECRET_TOKEN"],
}}
for name, attack in attacks.items():
    try:
        attack()
        print(name, "DONE", sep=": ", file=sys.stderr)
    except (OSError, KeyError) as error:
        print(name, type(error).__name__, sep=": ", file=sys.stderr)
sys.exit(3)
"""


@contextlib.contextmanager
def reviewer(home: Path) -> Iterator[dict[str, object]]:
    """What somebody has whom a bundle could harm."""
    home.mkdir()
    key = home / "key"
    key.write_text("secret")
    key.chmod(0o600)
    libc = ctypes.CDLL(None, use_errno=True)
    shared = libc.shmget(0, 4096, 0o1600)
    victim = subprocess.Popen(["sleep", "600"])
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as stream,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        stream.bind(str(home / "stream"))
        stream.listen()
        datagrams.bind(str(home / "datagrams"))
        try:
            yield {
                "home": str(home), "key": str(key), "port": server.getsockname()[1], "shared": shared,
                "stream": str(home / "stream"), "datagrams": str(home / "datagrams"), "victim": victim.pid,
            }  # fmt: skip
        finally:
            victim.kill()
            victim.wait()
            libc.shmctl(shared, 0, None)


NOT_SEEN = {
    "read an environment": "FileNotFoundError",
    "open a memory": "FileNotFoundError",
    "signal a process": "ProcessLookupError",
    "signal its parent": "DONE",  # the warden, which ends it for that, or does not heed it
}
"""In a namespace, where a process outside of it has no number and no folder in /proc."""


def test_what_is_tried(run: Run, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home is short, since a socket's path has room for 107 bytes."""
    monkeypatch.setenv("SECRET_TOKEN", "x")
    home = Path(f"/tmp/bundler-test-{os.getpid()}")
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(reviewer(home))
        stack.callback(lambda: subprocess.run(["rm", "-r", str(home)], check=True))
        program = ATTACKS.format(where=json.dumps(where))
        unconfined = dict(line.split(": ") for line in run(program, True))
        (home / "key").chmod(0o600)
        (home / "new").unlink()
        (home / "link").unlink()
        within = dict(line.split(": ") for line in run(program, False))
        assert {each.name for each in home.iterdir()} == {"key", "stream", "datagrams"}
    expected = dict.fromkeys(unconfined, "DONE")
    if YAMA.exists() and YAMA.read_text().strip() != "0" and os.getuid() != 0:
        expected |= dict.fromkeys(("trace a process", "open a memory"), "PermissionError")
    assert unconfined == expected
    assert len(within) == 17
    assert within.pop("read a secret") == "KeyError"
    assert within == dict.fromkeys(within, "PermissionError") | (NOT_SEEN if way == NAMESPACE else {})


def test_its_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"AWS_SECRET_ACCESS_KEY": "a", "HF_TOKEN": "b", "CUDA_HOME": "/usr", "LC_ALL": "C.UTF-8"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    program = "import json, os, sys; print(json.dumps(dict(os.environ)), file=sys.stderr); sys.exit(3)"
    environment = json.loads(run(program, False)[0])
    assert environment.keys() - confined._PASSED_ON == {
        "BUNDLER_BUNDLE", "BUNDLER_PROGRESS", "CUDA_CACHE_PATH", "HOME", "LC_ALL", "PYTHONUSERBASE",
    }  # fmt: skip
    assert environment["HOME"] == environment["CUDA_CACHE_PATH"] == str(Path(environment["TMPDIR"]).parent)


def test_where_it_and_its_warden_import_from(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative entry of PYTHONPATH means a folder of the caller's. The warden, which is not confined, has
    none that its ward could write."""
    wardens: list[dict[str, Any]] = []

    class Popen(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **how: Any) -> None:
            wardens.extend([how] if warden.MODULE in command else [])
            super().__init__(command, **how)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:.:src")
    monkeypatch.chdir(tmp_path)
    program = "import os, sys; print(os.environ['PYTHONPATH'], file=sys.stderr); sys.exit(3)"
    assert run(program, False)[0].split(":")[-2:] == [str(tmp_path), str(tmp_path / "src")]
    assert [how["cwd"] for how in wardens] == ["/"]
    assert [how["env"]["PYTHONPATH"] for how in wardens] == [str(Path(bundler.__file__).parents[1])]


LEAVES = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {mark!r}])
time.sleep(0.5)
sys.exit(3)
"""


def test_a_child_with_a_session_of_its_own(run: Run, tmp_path: Path) -> None:
    program = LEAVES.format(mark=f"{tmp_path}/mark/")
    run(program, True)
    left = running_from(tmp_path / "mark")
    assert len(left) == 1
    os.kill(left[0], signal.SIGKILL)
    wait_until(lambda: not running_from(tmp_path / "mark"))
    run(program, False)
    assert running_from(tmp_path / "mark") == []


STAYS = LEAVES.replace("time.sleep(0.5)\nsys.exit(3)", "sys.stdin.read()")


def test_nothing_is_left_when_the_asker_is_killed(
    archive: Callable[[Sequence[Entry]], Archive], tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    mark = tmp_path / "mark"
    target = archive([Entry("__main__.py", STAYS.format(mark=f"{mark}/").encode())])
    command = [sys.executable, "-m", "bundler", "verify", str(target.path), "--engine", "host"]
    asker = subprocess.Popen(
        [*command, "--ground", "interpreter"], env=os.environ | {"TMPDIR": str(tmp_path / "t")}
    )
    wait_until(lambda: bool(running_from(mark)))
    asker.kill()
    asker.wait()
    wait_until(lambda: not running_from(mark) and not running_from(tmp_path / "t"))


def test_ctrl_c_that_it_does_not_heed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warden ends it."""
    monkeypatch.setattr("bundler.engine.own.END_S", 1)
    program = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)\n"
    threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(program, False)
    assert time.monotonic() - begun < 30


# --- the device -------------------------------------------------------------------------------------------


def places(folder: Path) -> Places:
    made = Places(folder / "scratch/replayer", folder / "bundle/bundle", folder / "scratch/work")
    for each in (made.replayer, made.experiment, made.temporary):
        each.mkdir(parents=True)
    return made


def _in_a_child(attempt: Callable[[], object], user: int | None) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "died"
        try:
            if user is not None:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            said = str(attempt())
        except BaseException as error:  # noqa: BLE001 (nothing of it may go on as a second test)
            said = repr(error)
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    return said


def _names_a_thread(confinement: dict[str, object], work: Path) -> str:
    """As CUDA's driver does in a worker of a confined replayer, which no ptrace and no user can look into."""
    report = sandbox.confine(sandbox.Confinement(**confinement))  # type: ignore[arg-type]
    assert report["landlock"] == report["seccomp"] == "held"

    def worker() -> str:
        sandbox.make_undumpable()
        inner = sandbox.Confinement(("/usr", landlock.OWN_PROC), (str(work), "/proc/self/task"))
        assert sandbox.confine(inner)["landlock"] == "held"
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text("named")
        return Path("/proc/self/comm").read_text().strip()

    return _in_a_child(worker, None)


@pytest.mark.parametrize("device", [True, False])
def test_a_worker_on_a_device_names_its_threads(tmp_path: Path, device: bool) -> None:
    """Root becomes another user for that, who owns nothing below /proc/sys."""
    at = places(tmp_path)
    confinement = confined._confinement(["/usr", "/proc", sys.prefix, sys.base_prefix], at, device)
    assert ("/proc" in confinement["writable"]) == device
    user = confined.NOBODY if os.getuid() == 0 else None

    def replayer() -> str:
        named = _names_a_thread(confinement, at.work)
        with contextlib.suppress(PermissionError):
            os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
            return "a setting of the kernel could be written"
        return named

    expected = "named" if device else f"{PermissionError(13, 'Permission denied')!r}"[:-1]
    assert _in_a_child(replayer, user).startswith(expected)


def test_root_is_not_let_near_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(gpu_nodes, "GPU_NODES", (Path("/dev/null"),))
    monkeypatch.setattr(confined, "_can_read", lambda *_: False)
    at = places(tmp_path)
    device = Request(device=True)
    with pytest.raises(confined.NotConfined, match="run bundler as an ordinary user"):
        confined._order(device, at)
    monkeypatch.setattr(gpu_nodes, "GPU_NODES", ())
    order = confined._order(device, at)
    assert order.user is None
    assert "/proc" not in order.confinement["writable"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_root_becomes_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "_can_read", lambda *_: True)
    at = places(tmp_path)
    assert confined._order(Request(device=True), at).user == confined.NOBODY
    assert at.work.stat().st_uid == at.temporary.stat().st_uid == confined.NOBODY
    assert at.replayer.stat().st_uid == 0
    monkeypatch.setattr(confined, "_powers", lambda: confined._POWERS ^ 1)
    assert confined._order(Request(device=False), at).user is None
