"""A zygote and its workers, as the judge sees them: started, asked, watched, killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import shutil
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import bundler
from bundler.errors import UnavailableError
from bundler.worker import wire
from bundler.worker.zygote import CONTROL_BYTES

PRINTED_BYTES = 4000
"""What is kept of a worker's output, no more than evidence takes; the rest is read and dropped."""
_PROCESSES = 256
"""The most processes of a worker's group. RLIMIT_NPROC does not bind root, so they are counted too."""
_SPAWN_TRIES = 5
_MOST_LEFT_READS = 64
_TICK_S = 0.2
_GRACE_S = 2.0
"""How long a request may still be on its way once its answer is there."""
_ZYGOTE_START_S = 180


@dataclass(frozen=True)
class Allowance:
    """What one worker may use before it is killed."""

    memory_bytes: int
    scratch_bytes: int = 1 << 30
    data_bytes: int | None = None
    """RLIMIT_DATA; None where a CUDA context needs the address space."""
    cpu_seconds: int = 3600
    anonymous_files: bool = False
    """memfd_create: CUDA's driver needs it. Nothing but a cgroup counts what is written there."""


class SpawnFailed(Exception):
    """No worker could be forked and confined: never a candidate's fault. ``str`` is why."""


class ZygoteFailed(Exception):
    """The zygote could not start; ``str`` is its last output."""


class Zygote:
    """One process that has the imports of a flavour and forks workers."""

    def __init__(self, flavour: str, *, environment: Mapping[str, str] | None = None) -> None:
        self._flavour = flavour
        self._lock = threading.Lock()
        self._scratch = Path(tempfile.mkdtemp(prefix="bundler-"))
        self._scratch.chmod(0o700)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-B", "-m", "bundler.worker", flavour],
                stdin=theirs.fileno(),
                stdout=self._log,
                stderr=self._log,
                env=_environment(self._scratch, environment or {}),
                cwd=self._scratch,
                start_new_session=True,
            )
        try:
            self._ask_ready()
        except ZygoteFailed:
            self.close()
            raise

    def _ask_ready(self) -> None:
        self._control.settimeout(_ZYGOTE_START_S)
        try:
            ready = self._control.recv(CONTROL_BYTES)
        except TimeoutError:
            ready = b""
        if not ready:
            self._process.kill()
            self._process.wait()
            self._log.seek(0)
            raise ZygoteFailed(self._log.read()[-2000:].decode(errors="replace").strip() or "no answer")
        self._control.settimeout(None)

    @property
    def flavour(self) -> str:
        """The kind of worker that it forks."""
        return self._flavour

    def spawn(self, allowance: Allowance) -> Worker:
        """A new confined worker. Raises SpawnFailed; UnavailableError when the zygote itself has ended."""
        scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=self._scratch))
        pipes = _Pipes()
        request = {
            "op": "spawn",
            "scratch": str(scratch),
            "environment": _worker_environment(scratch),
            "confinement": _confinement(scratch, allowance),
        }
        try:
            pid = self._fork(request, pipes)
        except SpawnFailed:
            pipes.close_ours()
            scratch.rmdir()
            raise
        finally:
            pipes.close_theirs()
        return Worker(self, pid, pipes, scratch, allowance)

    def _fork(self, request: dict[str, Any], pipes: _Pipes) -> int:
        """The new worker's process id; tried again while another candidate's children fill the table."""
        why = ""
        for attempt in range(_SPAWN_TRIES):
            time.sleep(attempt * 0.2)
            with self._lock:
                socket.send_fds(self._control, [json.dumps(request).encode()], pipes.theirs)
                answer = self._answer()
            if answer["pid"] is not None:
                return int(answer["pid"])
            why = str(answer["why"])
        raise SpawnFailed(f"no process could be forked: {why}")

    def wait(self, pid: int) -> int | None:
        """The wait status of a worker that has ended or was killed; None when it does not go away."""
        with self._lock:
            try:
                self._control.send(json.dumps({"op": "wait", "pid": pid}).encode())
                status = self._answer()["status"]
            except OSError:  # closed by an interrupt: the worker has died with the process
                return None
        return None if status is None else int(status)

    def _answer(self) -> dict[str, Any]:
        data = self._control.recv(CONTROL_BYTES)
        if not data:
            raise UnavailableError(
                f"the {self._flavour} process that forks workers has ended",
                hint="look for an out-of-memory kill in the system's log, then run the replay again",
            )
        answer: dict[str, Any] = json.loads(data)
        return answer

    def close(self) -> None:
        """End the process; its workers die with it."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Pipes:
    """Requests, responses, output: our ends and the worker's."""

    def __init__(self) -> None:
        their_requests, self.requests = os.pipe()
        self.responses, their_responses = os.pipe()
        self.output, their_output = os.pipe()
        self.theirs = [their_requests, their_responses, their_output]

    def close_theirs(self) -> None:
        for fd in self.theirs:
            os.close(fd)

    def close_ours(self) -> None:
        for fd in (self.requests, self.responses, self.output):
            with contextlib.suppress(OSError):
                os.close(fd)


@dataclass(frozen=True)
class Ended:
    """How a worker ended, in words, and whether the replay killed it for what it used."""

    detail: str
    over: str = ""
    """The limit that it crossed; empty when it ended by itself."""


class Worker:
    """One confined process. Not for two threads at once."""

    def __init__(self, zygote: Zygote, pid: int, pipes: _Pipes, scratch: Path, allowance: Allowance) -> None:
        self._zygote = zygote
        self._pid = pid
        self._pipes = pipes
        self._scratch = scratch
        self._pidfd = os.pidfd_open(pid)
        self._guard = _Guard(pid, pipes.output, scratch, allowance)
        self.isolation: dict[str, str] = {}

    def hello(self, seconds: float) -> None:
        """Wait until it is confined; no candidate's code ran yet. Raises SpawnFailed."""
        deadline = time.monotonic() + seconds
        try:
            answer = wire.receive(self._pipes.responses, wire.Limits(), deadline=deadline, watch=self._pidfd)
        except wire.WireError as error:
            raise SpawnFailed(f"a worker was not confined: {error}") from None
        self.isolation = {str(k): str(v)[:200] for k, v in answer.header["isolation"].items()}

    def ask(
        self,
        header: dict[str, Any],
        parts: Sequence[bytes | bytearray | memoryview] = (),
        *,
        seconds: float,
        limits: wire.Limits,
    ) -> wire.Message:
        """One request, one response. Raises wire.WireError, its DeadlinePassed and PeerGone among them.

        What lies in the pipe beforehand was never asked for, and an answer repeats its request's number,
        which nobody can know beforehand: a forged or belated answer cannot pass for that of a later request.
        """
        if _has_ended(self._pidfd):
            raise wire.PeerGone("the process had ended before it was asked")
        if select.select([self._pipes.responses], [], [], 0)[0]:
            raise wire.WireError("it answered before it was asked")
        number = secrets.token_hex(8)
        message = self._exchange({**header, wire.NUMBER: number}, parts, seconds, limits)
        answered = message.header.pop(wire.NUMBER, None)
        if answered != number:
            raise wire.WireError(f"it answered request {str(answered)[:40]}, not {number}")
        return message

    def _exchange(
        self,
        header: dict[str, Any],
        parts: Sequence[bytes | bytearray | memoryview],
        seconds: float,
        limits: wire.Limits,
    ) -> wire.Message:
        deadline = time.monotonic() + seconds
        sender = threading.Thread(target=self._send, args=(header, parts), daemon=True)
        sender.start()
        try:
            return wire.receive(self._pipes.responses, limits, deadline=deadline, watch=self._pidfd)
        finally:
            sender.join(_GRACE_S)
            if sender.is_alive():
                # It answered, or not, without reading the request: nothing more can be asked of it.
                self.kill()
                sender.join()

    def _send(self, header: dict[str, Any], parts: Sequence[bytes | bytearray | memoryview]) -> None:
        with contextlib.suppress(wire.PeerGone):
            wire.send(self._pipes.requests, header, parts)

    def kill(self) -> None:
        """Kill the whole process group, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)

    def close(self) -> Ended:
        """Kill what is left and clean up; say how it ended. Once only."""
        # A leader that has ended stays a zombie until it is waited for, so its group's number is not reused.
        self.kill()
        self._guard.stop()
        status = self._zygote.wait(self._pid)
        os.close(self._pidfd)
        self._pipes.close_ours()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return Ended(_how_it_ended(status), self._guard.over)

    @property
    def printed(self) -> bytes:
        """The first bytes that it printed."""
        return self._guard.printed


def _has_ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 0)[0])


def _how_it_ended(status: int | None) -> str:
    if status is None:
        return "was killed and did not go away"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"ended by {signal.Signals(number).name if number in signal.valid_signals() else number}"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"


class _Guard(threading.Thread):
    """Drains a worker's output, and kills it when it uses more memory or disk than it may."""

    def __init__(self, pid: int, output: int, scratch: Path, allowance: Allowance) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._output = output
        self._scratch = scratch
        self._allowance = allowance
        self._stopped = threading.Event()
        self.printed = b""
        self.over = ""
        self.start()

    def run(self) -> None:
        open_ = True
        next_check = 0.0
        while not self._stopped.is_set():
            if open_ and select.select([self._output], [], [], _TICK_S)[0]:
                open_ = self._drain()
            elif not open_:
                self._stopped.wait(_TICK_S)
            if time.monotonic() >= next_check:
                self._check()
                next_check = time.monotonic() + _TICK_S

    def stop(self) -> None:
        """End the thread, with a last look at what was printed."""
        self._stopped.set()
        self.join()
        for _ in range(_MOST_LEFT_READS):  # no more than a pipe holds, whoever still writes
            if not select.select([self._output], [], [], 0)[0] or not self._drain():
                return

    def _drain(self) -> bool:
        data = os.read(self._output, 1 << 16)
        self.printed += data[: max(0, PRINTED_BYTES - len(self.printed))]
        return bool(data)

    def _check(self) -> None:
        processes, used = _group_use(self._pid)
        if processes > _PROCESSES:
            self._stop_it(f"had {processes} processes, over {_PROCESSES}")
        if used > self._allowance.memory_bytes:
            self._stop_it(f"used {used >> 20} MiB of memory, over {self._allowance.memory_bytes >> 20} MiB")
        stored = _folder_bytes(self._scratch)
        if stored > self._allowance.scratch_bytes:
            self._stop_it(
                f"wrote {stored >> 20} MiB to its folder, over {self._allowance.scratch_bytes >> 20} MiB"
            )

    def _stop_it(self, why: str) -> None:
        self.over = self.over or why
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)


def watch_state() -> str:
    """Whether what a worker uses can be watched on this host: ``held``, or why not."""
    return "held" if Path("/proc/self/stat").exists() else "/proc is not mounted"


def _group_use(pgid: int) -> tuple[int, int]:
    """Processes of a group, and their resident bytes: anonymous and shared memory, no mapped files."""
    processes = total = 0
    if watch_state() != "held":
        return 0, 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == pgid:
                processes += 1
                total += _resident((entry / "status").read_bytes())
    return processes, total


def _resident(status: bytes) -> int:
    kibibytes = re.findall(rb"^Rss(?:Anon|Shmem):\s+([0-9]+) kB$", status, re.MULTILINE)
    return sum(map(int, kibibytes)) << 10


def _folder_bytes(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{path}/{name}").st_blocks * 512
    return total


# --- what a worker sees ----------------------------------------------------------------------------

_PASSED_ON = (
    "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "TRITON_LIBCUDA_PATH",
    "NVIDIA_VISIBLE_DEVICES", "TRITON_PTXAS_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "TMPDIR",
)  # fmt: skip


def _environment(scratch: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """A zygote's whole environment: nothing of the caller's but what finds Python, torch and the GPU."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    root = str(Path(bundler.__file__).resolve().parent.parent)
    return environment | {
        "PYTHONPATH": os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH", "")))),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TRITON_DISABLE_LINE_INFO": "1",
        "TRITON_STORE_BINARY_ONLY": "1",
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        "HOME": str(scratch),
        "USER": "nobody",
        **extra,
    }


def _worker_environment(scratch: Path) -> dict[str, str]:
    folder = str(scratch)
    return {
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "HOME": folder,
        "TMPDIR": folder,
        "CUDA_CACHE_PATH": folder,
    }


def _confinement(scratch: Path, allowance: Allowance) -> dict[str, Any]:
    return {
        "readable": readable_paths(),
        # CUDA names its threads by writing there; without that cuInit ends with error 304.
        "writable": [str(scratch), *_DEVICES, "/proc/self/task"],
        "file_bytes": 256 << 20,
        "data_bytes": allowance.data_bytes,
        "processes": 128,
        "cpu_seconds": allowance.cpu_seconds,
        "anonymous_files": allowance.anonymous_files,
    }


_DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidiactl", "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", "/dev/dxg", *(f"/dev/nvidia{n}" for n in range(16)),
)  # fmt: skip
_SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/sbin", "/sys",
    # Of /etc what the loader, the C library and NVIDIA's driver read; of /proc nothing about others.
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
    "/etc/localtime", "/etc/timezone", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/nvidia",
    "/etc/OpenCL", "/etc/os-release", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
    "/proc/version", "/proc/devices", "/proc/modules", "/proc/filesystems", "/proc/driver", "/proc/sys",
    "/proc/uptime", "/proc/loadavg", "/proc/cgroups", "/proc/cmdline",
)  # fmt: skip


def readable_paths() -> tuple[str, ...]:
    """Python, its packages, the system's programs and libraries: no bundle, no home, no other scratch.

    The folder that bundler itself lies in is left out unless it is a package folder: a checkout also
    has the experiments.
    """
    own = Path(bundler.__file__).resolve().parent.parent
    packages = {
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "include")
    }
    libraries = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    candidates = [
        *map(Path, _SYSTEM),
        *map(Path, filter(None, packages)),
        *(
            Path(p) / d
            for p in {sys.prefix, sys.base_prefix, sys.exec_prefix}
            for d in ("lib", "bin", "include")
        ),
        *map(Path, site.getsitepackages()),
        *libraries,
        *(entry for entry in map(Path, filter(None, sys.path)) if _holds_packages(entry, own)),
    ]
    return tuple(sorted({str(path) for path in candidates if path.exists()}))


def _holds_packages(entry: Path, own: Path) -> bool:
    """Whether a folder of sys.path is one of installed packages, and not bundler's checkout."""
    return entry.resolve() != own and any((entry / name).is_dir() for name in ("torch", "triton", "numpy"))
