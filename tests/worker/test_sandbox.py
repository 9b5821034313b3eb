"""The confinement, tried: each thing that a worker must not do is done in a confined child."""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bundler.worker import landlock, sandbox, seccomp
from bundler.worker.system_calls import MACHINES

LIBC = ctypes.CDLL(None, use_errno=True)
FILTERED = pytest.mark.skipif(platform.machine() not in MACHINES, reason="no filter for this machine")
LANDLOCK_HERE = landlock.version()
LANDLOCK = pytest.mark.skipif(LANDLOCK_HERE == 0, reason="this kernel has no Landlock")
READABLE = ("/usr", "/lib", "/lib64", "/bin", landlock.OWN_PROC, sys.prefix, sys.base_prefix)


def _confined(
    attempt: Callable[[], object], folder: Path, *, limits: dict[str, object] | None = None
) -> tuple[str, dict[str, str]]:
    """What came of ``attempt`` in a confined child: ``done``, or the error's name; and the report."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        said = "died"
        report: dict[str, str] = {}
        try:
            os.setpgid(0, 0)
            os.chdir(folder)
            confinement = sandbox.Confinement(READABLE, (str(folder), "/dev/null"), **(limits or {}))  # type: ignore[arg-type]
            report = sandbox.confine(confinement)
            attempt()
            said = "done"
        except OSError as error:
            said = type(error).__name__ if error.errno is None else os.strerror(error.errno)
        except BaseException as error:  # noqa: BLE001
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(write, json.dumps([said, report]).encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        return f"signal {os.WTERMSIG(status)}", {}
    said, report = json.loads(answer)
    return said, report


def _number(name: str) -> int:
    number = MACHINES[platform.machine()].calls[name]
    assert number is not None
    return number


def _syscall(name: str, *arguments: object) -> Callable[[], None]:
    def call() -> None:
        if LIBC.syscall(_number(name), *arguments) < 0:
            raise OSError(ctypes.get_errno(), "")

    return call


def test_every_step_is_reported(tmp_path: Path) -> None:
    said, report = _confined(lambda: None, tmp_path)
    assert said == "done"
    assert list(report) == [
        "resource-limits", "process-limit", "no-new-privs", "no-capabilities", "landlock", "seccomp",
    ]  # fmt: skip
    assert report["no-new-privs"] == report["no-capabilities"] == "held"


DENIED = {
    "inet": lambda: socket.socket(socket.AF_INET),
    "inet6 datagram": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "connect": lambda: socket.socket(socket.AF_UNIX).connect("/nowhere"),
    "send to": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "/nowhere"),
    "kill parent": lambda: os.kill(os.getppid(), 0),
    "kill group": lambda: os.killpg(os.getpgid(os.getppid()), 0),
    "kill everyone": lambda: os.kill(-1, 0),
    "tgkill": _syscall("tgkill", 1, 1, 0),
    "tkill": _syscall("tkill", 1, 0),
    "pidfd": lambda: os.pidfd_open(os.getppid()),
    "ptrace": _syscall("ptrace", 16, os.getpid(), 0, 0),
    "process_vm_readv": _syscall("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0),
    "setsid": os.setsid,
    "setpgid": lambda: os.setpgid(0, 0),
    "unshare": _syscall("unshare", 0x10000000),
    "clone into a namespace": _syscall("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
    "mount": _syscall("mount", b"none", b"/tmp", b"tmpfs", 0, 0),
    "chroot": lambda: os.chroot("/"),
    "setns": _syscall("setns", 0, 0),
    "bpf": _syscall("bpf", 0, 0, 0),
    "perf": _syscall("perf_event_open", 0, 0, -1, -1, 0),
    "io_uring": _syscall("io_uring_setup", 1, 0),
    "userfaultfd": _syscall("userfaultfd", 0),
    "keyctl": _syscall("keyctl", 0, -3, 0),
    "shmget": _syscall("shmget", 0, 4096, 0o1600),
    "shmat": _syscall("shmat", 0, 0, 0),
    "message queue": _syscall("msgrcv", 0, 0, 0, 0, 0),
    "send to, from a round address": lambda: _send_from(1 << 32),
    "attributes": lambda: os.setxattr("/usr", "user.x", b"1"),
    "watch": _syscall("inotify_add_watch", LIBC.inotify_init(), b"/root", 2),
    "memfd": lambda: os.memfd_create("x"),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    "affinity": lambda: os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0)),
    "prlimit": _syscall("prlimit64", os.getppid(), 0, 0, 0),
    "owner's signals": lambda: _owner(os.getppid()),
    "setuid": lambda: os.setuid(12345),
}


def _owner(pid: int) -> None:
    import fcntl

    ours, _ = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, pid)


def _send_from(address: int) -> None:
    """A datagram whose address lies in memory at ``address``: half of the pointer is 0."""
    private_anonymous_fixed, writable = 0x100022, 3
    LIBC.mmap.restype = ctypes.c_void_p
    at = ctypes.c_void_p(address)
    assert LIBC.mmap(at, 4096, writable, private_anonymous_fixed, -1, 0) == address
    name = b"\1\0/nowhere"
    ctypes.memmove(address, name, len(name))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        _syscall("sendto", ours.fileno(), b"x", ctypes.c_size_t(1), 0, at, len(name))()


@FILTERED
@pytest.mark.parametrize("name", DENIED)
def test_denied(name: str, tmp_path: Path) -> None:
    assert _confined(DENIED[name], tmp_path)[0] == "Operation not permitted"


@FILTERED
def test_no_file_of_the_user_changes_its_mode_owner_or_times(tmp_path: Path) -> None:
    """Landlock has no right for that. A linker that asks for it on its own file goes on."""
    own, file = tmp_path / "own", tmp_path / "file"
    own.mkdir()
    file.write_text("x")
    file.chmod(0o600)
    before = file.stat()

    def attempt() -> None:
        file.chmod(0o666)
        os.chown(file, os.getuid(), os.getgid())
        os.utime(file, (0, 0))
        with Path("/usr/bin/env").open() as readable:
            os.fchmod(readable.fileno(), os.fstat(readable.fileno()).st_mode)

    assert _confined(attempt, own)[0] == "done"
    assert file.stat() == before


def _works(*command: str) -> Callable[[], None]:
    def call() -> None:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())

    return call


def _thread() -> None:
    import threading

    threads = [threading.Thread(target=lambda: None) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _pair() -> None:
    ours, theirs = socket.socketpair()
    ours.send(b"x")
    assert theirs.recv(1) == b"x"


MOVED = "a file moved between its folders"
ALLOWED = {
    "a program": _works("/bin/sh", "-c", "true"),
    "a compiler's own children": _works("/bin/sh", "-c", "/bin/sh -c true | /bin/cat"),
    "threads": _thread,
    "its folder": lambda: Path("file").write_bytes(b"x" * 1000),
    "a socket pair": _pair,
    "its own signals": lambda: os.kill(os.getpid(), 0),
    "its own affinity": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "memory": lambda: mmap.mmap(-1, 1 << 24).write(b"x"),
    "temporary files": lambda: tempfile.TemporaryFile(dir=".").close(),
    "its own process": lambda: Path("/proc/self/maps").read_bytes(),
    "time": lambda: time.sleep(0.001),
    MOVED: lambda: _moved(Path("a"), Path("b")),
}


def _moved(one: Path, other: Path) -> None:
    one.mkdir()
    other.mkdir()
    (one / "file").write_text("x")
    (one / "file").replace(other / "file")


@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(name: str, tmp_path: Path) -> None:
    assert _confined(ALLOWED[name], tmp_path)[0] == _allowed(name)


def _allowed(name: str) -> str:
    """What comes of it. Landlock's first version has no right to move a file to another folder."""
    return "Invalid cross-device link" if (name, LANDLOCK_HERE) == (MOVED, 1) else "done"


def test_a_device_ground_may_have_files_without_a_name(tmp_path: Path) -> None:
    assert _confined(DENIED["memfd"], tmp_path, limits={"anonymous_files": True})[0] == "done"


def test_a_program_that_is_executed_gains_nothing(tmp_path: Path) -> None:
    """Executed by uid 0, a program would get every capability back, if it were allowed new privileges."""
    code = "import os, sys\ntry:\n os.setresuid(12345, 12345, 12345)\nexcept OSError: sys.exit(7)"
    command = [sys.executable, "-I", "-S", "-c", code]
    said, _ = _confined(lambda: _expect(7, command), tmp_path)
    assert said == "done"


def _expect(status: int, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == status, (done.returncode, done.stderr)


@LANDLOCK
@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/etc/hostname", "/root", "/tmp", "/proc/1/cmdline", "/proc/net/unix", "/var/log"]
)
def test_nothing_else_is_readable(path: str, tmp_path: Path) -> None:
    if not Path(path).exists():
        pytest.skip(f"no {path} here")

    def attempt() -> None:
        if Path(path).is_dir():
            list(Path(path).iterdir())
        else:
            Path(path).read_bytes()

    # /proc/net leads to /proc/self/net, which is its own.
    expected = "done" if path == "/proc/net/unix" else "Permission denied"
    assert _confined(attempt, tmp_path)[0] == expected


@LANDLOCK
@pytest.mark.parametrize("name", ["../beside", "/dev/shm/x", "/usr/x", "/tmp/bundler-test-x"])
def test_nothing_else_is_writable(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    said = _confined(lambda: Path(name).write_bytes(b"x"), folder)[0]
    assert said in ("Permission denied", "Read-only file system")
    with contextlib.suppress(OSError):
        assert not Path(name).exists()


@LANDLOCK
def test_nothing_is_moved_or_linked_out(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "file").write_text("x")
    for attempt in (lambda: Path("file").rename("../file"), lambda: os.link("file", "../file")):
        said, _ = _confined(attempt, folder)
        assert said in ("Permission denied", "Invalid cross-device link")


def test_limits_are_hard(tmp_path: Path) -> None:
    def large_file() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        Path("large").write_bytes(b"x" * 3000)

    limits = {"file_bytes": 2000}
    assert _confined(large_file, tmp_path, limits=limits)[0] == "File too large"

    def raise_it() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))

    said, _ = _confined(raise_it, tmp_path, limits=limits)
    assert said.startswith(("ValueError", "Operation not permitted"))


def test_private_memory_is_limited(tmp_path: Path) -> None:
    limits = {"data_bytes": 256 << 20}
    said, _ = _confined(lambda: bytearray(512 << 20), tmp_path, limits=limits)
    assert said.startswith("MemoryError")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has x32")
def test_the_other_instruction_sets_are_closed(tmp_path: Path) -> None:
    """An x32 system call has another number for the same thing."""
    said, _ = _confined(lambda: LIBC.syscall(0x40000000 | 41, 2, 1, 0), tmp_path)
    assert said == f"signal {signal.SIGSYS}"


# --- a replayer ------------------------------------------------------------------------------------

SCOPED = LANDLOCK_HERE >= landlock.SCOPES_VERSION
SCOPES = pytest.mark.skipif(not SCOPED, reason="this kernel keeps no signals apart")
REPLAYER: dict[str, object] = {"confines": True, "apart": not SCOPED}
BY_SCOPE = {"kill parent", "kill group", "tgkill"}
"""What no filter denies to a replayer. On older kernels a namespace does, which nobody is in here."""
OWN_TO_A_REPLAYER = ("pidfd", "setsid", "setpgid", "kill everyone")
"""Of what a worker is denied. To kill everyone succeeds, and reaches only what is its own."""


@FILTERED
@LANDLOCK
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=SCOPES if name in BY_SCOPE else ())
        for name in sorted(DENIED.keys() - OWN_TO_A_REPLAYER)
    ],
)
def test_denied_to_a_replayer(name: str, tmp_path: Path) -> None:
    assert _confined(DENIED[name], tmp_path, limits=REPLAYER)[0] == "Operation not permitted"


def _datagrams() -> None:
    with contextlib.suppress(PermissionError):
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        raise RuntimeError("has a socket for datagrams")
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


@FILTERED
@LANDLOCK
def test_a_replayer_has_no_socket_that_heeds_an_address(tmp_path: Path) -> None:
    """It has sendmsg, whose address no filter sees."""
    assert _confined(_datagrams, tmp_path, limits=REPLAYER)[0] == "Operation not permitted"
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
        theirs.bind(path)
        theirs.setblocking(False)

        def send() -> None:
            for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                for ours in (*socket.socketpair(socket.AF_UNIX, kind), socket.socket(socket.AF_UNIX, kind)):
                    with contextlib.suppress(OSError):
                        ours.sendmsg([b"x"], [], 0, path)

        assert _confined(send, tmp_path, limits=REPLAYER)[0] == "done"
        with pytest.raises(BlockingIOError):
            theirs.recv(1)


def _workers() -> None:
    """What the judge and its zygote do with a worker: a group of its own, descriptors, a kill, an end."""
    sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(ours, [b"x"], [0])
    assert len(socket.recv_fds(theirs, 1, 1)[1]) == 1
    child = os.fork()
    if child == 0:
        os.setsid()
        time.sleep(60)
    ended = os.pidfd_open(child)
    os.kill(child, 0)
    time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    assert os.waitid(os.P_PIDFD, ended, os.WEXITED) is not None
    Path(f"/proc/{os.getpid()}/stat").read_bytes()


@LANDLOCK
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed_to_a_replayer(name: str, tmp_path: Path) -> None:
    assert _confined(ALLOWED[name], tmp_path, limits=REPLAYER)[0] == _allowed(name)


@LANDLOCK
def test_a_replayer_has_workers(tmp_path: Path) -> None:
    assert _confined(_workers, tmp_path, limits=REPLAYER)[0] == "done"


@FILTERED
@LANDLOCK
def test_its_worker_is_confined_as_any_other(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()

    def attempt() -> None:
        inner = sandbox.Confinement(READABLE, (str(own),))
        report = sandbox.confine(inner)
        assert report["landlock"] == report["seccomp"] == "held"
        (own / "file").write_text("x")
        os.kill(os.getpid(), 0)
        with contextlib.suppress(PermissionError):
            (tmp_path / "beside").write_text("x")
            raise RuntimeError("it writes what only the replayer may")
        os.setsid()

    assert _confined(attempt, tmp_path, limits=REPLAYER)[0] == "Operation not permitted"


@SCOPES
def test_signals_end_at_the_domain(tmp_path: Path) -> None:
    """Root's too; and it can then kill all that it started at once, as it must not be able to elsewhere.
    All files stay."""
    outside = subprocess.Popen(["sleep", "60"])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sandbox.scope_signals()
            _moved(tmp_path / "a", tmp_path / "b")
            sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
            inside = os.fork()
            if inside == 0:
                os.setsid()
                time.sleep(60)
            with contextlib.suppress(PermissionError):
                os.kill(outside.pid, 0)
                os._exit(2)
            os.kill(-1, signal.SIGKILL)
            status = 0 if os.WTERMSIG(os.waitpid(inside, 0)[1]) == signal.SIGKILL else 3
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert outside.poll() is None
    outside.kill()
    outside.wait()


@pytest.mark.parametrize("version", [0, 1, 5])
def test_a_replayer_is_not_confined_where_signals_are_not_kept_apart(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: version)
    _, report = _confined(lambda: None, tmp_path, limits={"confines": True})
    has = f"'s Landlock has version {version}, and 6 is needed" if version else " has no Landlock"
    assert report["landlock"] == f"this kernel{has}"
    with pytest.raises(landlock.NotHere, match=f"this kernel{has}"):
        landlock.restrict((), (), files=False, least_version=6)


# --- where the kernel has less ---------------------------------------------------------------------


def test_without_landlock_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    said, report = _confined(lambda: None, tmp_path)
    assert (said, report["landlock"]) == ("done", "this kernel has no Landlock")
    assert report["seccomp"] == "held"


def test_on_another_processor_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    _, report = _confined(lambda: None, tmp_path)
    assert report["seccomp"] == "no system call table for riscv64"


def test_a_refusal_is_reported_and_the_other_steps_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(sandbox, "_landlock", refused)
    monkeypatch.setattr(sandbox, "_seccomp", refused)
    _, report = _confined(lambda: None, tmp_path)
    assert report["landlock"] == report["seccomp"] == "refused: Operation not permitted"
    assert report["no-new-privs"] == "held"


@pytest.mark.parametrize("others", [0, 40])
def test_processes_that_cannot_be_seen_take_none_of_a_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """Another container's processes of the same user count, and are in no /proc here."""
    monkeypatch.setattr(sandbox, "_threads_of_user", lambda uid: 0)
    child = os.fork()
    if child == 0:
        idle, started = [], 0
        try:
            if os.getuid() == 0:
                user = 54321 + others  # its own: what the other one starts beside this counts too
                os.setresuid(user, user, user)
            idle += [_idle() for _ in range(others)]
            sandbox._limit_processes(10)
            with contextlib.suppress(BlockingIOError):
                while started < 100:
                    idle.append(_idle())
                    started += 1
        finally:
            for one in idle:
                os.kill(one, signal.SIGKILL)
            os._exit(started)
    started = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert 10 <= started <= 20


def test_where_nothing_can_be_started_a_limit_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cgroup's limit was reached, say: that one may be lifted later."""
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(sandbox, "_threads_of_user", lambda uid: 0)
    monkeypatch.setattr(sandbox, "_can_fork", lambda: False)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sandbox._limit_processes(10)
            status = 0 if resource.getrlimit(resource.RLIMIT_NPROC)[1] <= 640 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _idle() -> int:
    if child := os.fork():
        return child
    time.sleep(60)
    os._exit(0)


def test_without_proc_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(uid: int) -> int:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(sandbox, "_threads_of_user", missing)
    _, report = _confined(lambda: None, tmp_path)
    assert report["process-limit"] == "refused: No such file or directory"
    assert report["resource-limits"] == report["seccomp"] == "held"


@pytest.mark.parametrize("version", range(1, landlock.version() + 1))
def test_every_version_of_landlock_has_its_rules(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: version)
    said, report = _confined(lambda: Path("/etc/hostname").read_bytes(), tmp_path)
    assert report["landlock"] == "held"
    assert said == "Permission denied"


EMPTYING: dict[str, Callable[[str], object]] = {
    "truncate": lambda path: os.truncate(path, 0),
    "open, to read": lambda path: os.open(path, os.O_RDONLY | os.O_TRUNC),
    "open, for nothing": lambda path: os.open(path, 3 | os.O_TRUNC),
    "open without a folder": lambda path: _syscall("open", path.encode(), os.O_TRUNC)(),
    "openat2": lambda path: _syscall(
        "openat2", -100, path.encode(), struct.pack("<QQQ", os.O_TRUNC, 0, 0), 24
    )(),
}


if platform.machine() != "x86_64":
    del EMPTYING["open without a folder"]  # there is openat alone


@FILTERED
@pytest.mark.parametrize("confines", [False, True], ids=["worker", "replayer"])
@pytest.mark.parametrize("name", EMPTYING)
def test_no_file_of_the_user_is_emptied(
    name: str, confines: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Landlock has a right for it from version 3 on; before, whoever may read a file may truncate it."""
    monkeypatch.setattr(landlock, "version", lambda: min(2, LANDLOCK_HERE))
    theirs, work = tmp_path / "theirs", tmp_path / "work"
    theirs.write_text("all of it")
    work.mkdir()
    monkeypatch.setattr(f"{__name__}.READABLE", (*READABLE, str(theirs)))
    said, _ = _confined(
        lambda: EMPTYING[name](str(theirs)), work, limits={"confines": confines, "apart": confines}
    )
    assert said == ("Function not implemented" if name == "openat2" else "Operation not permitted")
    assert theirs.read_text() == "all of it"


@FILTERED
@pytest.mark.parametrize("version", range(1, LANDLOCK_HERE + 1))
def test_it_writes_and_empties_its_own_in_every_version(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: version)

    def attempt() -> None:
        own = Path("own")
        own.write_text("a long text")
        own.write_text("short")
        with own.open("r+") as stream:
            stream.truncate(3)
        own.rename("renamed")
        assert Path("renamed").read_text() == "sho"

    assert _confined(attempt, tmp_path)[0] == "done"


@pytest.mark.parametrize("version", [1, 5])
def test_a_replayer_that_is_apart_needs_no_scope_for_signals(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: min(version, LANDLOCK_HERE))
    _, report = _confined(lambda: None, tmp_path, limits={"confines": True, "apart": True})
    assert report["landlock"] == ("held" if LANDLOCK_HERE else "this kernel has no Landlock")


def test_undumpable() -> None:
    child = os.fork()
    if child == 0:
        held = sandbox.make_undumpable() == "held" and LIBC.prctl(3) == 0
        os._exit(0 if held else 1)
    assert os.waitpid(child, 0)[1] == 0


FILTERS = {
    f"{what}, {name}": filtered
    for name, machine in MACHINES.items()
    for what, filtered in (
        ("worker", seccomp.worker(machine, 1234, anonymous_files=False)),
        ("replayer", seccomp.replayer(machine, anonymous_files=False)),
    )
}


@pytest.mark.parametrize("name", FILTERS)
def test_every_jump_of_the_filter_lands_inside(name: str) -> None:
    program = FILTERS[name]
    for at, (code, jump_true, jump_false, _) in enumerate(program):
        if code & 7 == 5:  # BPF_JMP
            assert at + 1 + max(jump_true, jump_false) < len(program)
    assert len(program) < 4096  # BPF_MAXINSNS
    assert program[-1][0] == 6
