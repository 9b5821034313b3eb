"""What a process gives up before it loads code that nobody vouches for.

Each step answers ``held`` or the reason why it does not hold on this kernel; the caller stores both.
No privilege is needed, and none is left: no_new_privs, no capabilities, resource limits, Landlock
(https://docs.kernel.org/userspace-api/landlock.html) and a seccomp filter
(https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html).

It does not hide CUDA's device files, and it is no virtual machine: a hole in the kernel or in
NVIDIA's driver is outside of what it defends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bundler.worker import landlock, seccomp
from bundler.worker.landlock import NotHere
from bundler.worker.system_calls import MACHINES

_libc = ctypes.CDLL(None, use_errno=True)

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36
PR_SET_PDEATHSIG = 1
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

HELD = "held"


@dataclass(frozen=True)
class Confinement:
    """What a worker is allowed, or a whole replayer that its asker does not trust."""

    readable: tuple[str, ...]
    """Folders and files that it may read and execute."""
    writable: tuple[str, ...]
    """Its scratch folder, and device files."""
    confines: bool = False
    """Whether it is a replayer, which confines workers of its own: it may signal what it starts."""
    apart: bool = False
    """Whether processes outside have no number for it, and no network either: signals and abstract sockets,
    which Landlock keeps inside from version 6 on, are out of its reach then."""
    open_files: int = 512
    file_bytes: int = 256 << 20
    """The largest file that it may write."""
    data_bytes: int | None = None
    """Private writable memory; None where a CUDA context needs more address space than memory."""
    processes: int = 4096
    """Processes and threads of this user beyond those that run already: a backstop. Others of this user come
    and go, and what a worker has is counted by the replay."""
    cpu_seconds: int = 600
    anonymous_files: bool = False
    """Whether memfd_create is left: what is written there counts against no limit of a process."""


def prctl(option: int, *args: int) -> None:
    """Call prctl(2); raise OSError."""
    padded = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def make_undumpable() -> str:
    """Close this process's memory to ptrace and /proc/PID/mem of the same user."""
    return _attempt(lambda: prctl(PR_SET_DUMPABLE, 0))


def confine(limits: Confinement) -> dict[str, str]:
    """Confine the calling process and all that it will start. There is no way back.

    Returns a word for each step: ``held``, or why not.
    """
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        ("resource-limits", lambda: _set_limits(limits)),
        ("process-limit", lambda: _limit_processes(limits.processes)),
        ("no-new-privs", lambda: prctl(PR_SET_NO_NEW_PRIVS, 1)),
        ("no-capabilities", _drop_capabilities),
        ("landlock", lambda: _landlock(limits)),
        ("seccomp", lambda: _seccomp(limits)),
    )
    return {name: _attempt(step) for name, step in steps}


def _attempt(step: Callable[[], None]) -> str:
    try:
        step()
    except NotHere as reason:
        return str(reason)
    except OSError as error:
        return f"refused: {error.strerror}"
    return HELD


# --- resource limits -------------------------------------------------------------------------------

_MOST_STEPS = 64
"""Each of as many processes as a worker may have: the room for those of its user that it does not see."""


def _set_limits(limits: Confinement) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CPU: limits.cpu_seconds,
    }
    if limits.data_bytes is not None:
        wanted[resource.RLIMIT_DATA] = limits.data_bytes
    for name, limit in wanted.items():
        _limit(name, limit)


def _limit(name: int, limit: int) -> None:
    hard = resource.getrlimit(name)[1]
    most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(name, (most, most))


def _limit_processes(more: int) -> None:
    if os.getuid() == 0:
        raise NotHere("RLIMIT_NPROC does not bind root; the replay counts the processes instead")
    running = _threads_of_user(os.getuid())
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    for limit in range(running + more, running + _MOST_STEPS * more, more):
        if hard != resource.RLIM_INFINITY and limit >= hard:
            break
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, hard))
        if _can_fork():
            return _limit(resource.RLIMIT_NPROC, limit + more)
    return _limit(resource.RLIMIT_NPROC, limit)


def _can_fork() -> bool:
    """Containers share the count of a user's threads, and do not see each other's: only trying tells."""
    try:
        child = os.fork()
    except BlockingIOError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def _threads_of_user(uid: int) -> int:
    """RLIMIT_NPROC counts every thread of the user, so the limit is set above those that run now."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == uid:
                    total += len(list((entry / "task").iterdir()))
    return total


# --- capabilities ----------------------------------------------------------------------------------


def _drop_capabilities() -> None:
    """Empty the ambient, permitted and effective sets: root becomes an ordinary user with uid 0."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("<Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    if _libc.capset(header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


# --- files and signals -----------------------------------------------------------------------------


def scope_signals() -> None:
    """Let this process, and all that it will start, signal and trace each other only, as root too.

    Raises NotHere or OSError where the kernel cannot. No file is taken away.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict((), (), files=False, least_version=landlock.SCOPES_VERSION)


def _landlock(limits: Confinement) -> None:
    least = landlock.SCOPES_VERSION if limits.confines and not limits.apart else 1
    landlock.restrict(limits.readable, limits.writable, least_version=least)


# --- seccomp ---------------------------------------------------------------------------------------

PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2


def _seccomp(limits: Confinement) -> None:
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise NotHere(f"no system call table for {platform.machine()}")
    if limits.confines:
        steps = seccomp.replayer(machine, limits.anonymous_files)
    else:
        steps = seccomp.worker(machine, os.getpid(), limits.anonymous_files)
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(buffer))
    fprog = ctypes.create_string_buffer(header, len(header))
    prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(fprog))
