"""Another bundler's replayer, confined by this one: what it may reach, and who sees to it.

It reads Python, the packages, the system's libraries, its own files and the experiment; it writes to one
folder; it has no network and no secret of the caller's environment. bundler.replay.warden starts and ends it.
"""

from __future__ import annotations

import contextlib
import os
import site
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic

import bundler
from bundler.engine import apart
from bundler.engine.gpu_nodes import has_gpu_nodes
from bundler.engine.lifeline import HELD
from bundler.engine.process import Places, Started
from bundler.replay import warden
from bundler.replay.allowance import PASSED_ON, Allowance, confinement
from bundler.replay.limits import MOST_THREADS
from bundler.replay.request import Request

NOBODY = 65534
"""What root makes of it, as a container does."""
_WARDEN = ("-m", warden.MODULE)
_DAY_S = 86400
_GONE_S = 90
"""How long a namespace may take to end: longer than its warden waits for what it killed."""
_PASSED_ON = (
    *PASSED_ON, "VIRTUAL_ENV", "PYTHONHOME", "PYTHONUTF8", "LANG", "LANGUAGE", "TZ", "container",
)  # fmt: skip
"""What it passes on in turn to those that run candidates, and what it needs itself."""
_PASSED_ON_PREFIXES = ("CUDA_", "NVIDIA_", "LC_")
_ROOT = (
    "CUDA's driver writes below /proc, where root owns the kernel's settings, and root cannot become "
    f"user {NOBODY} here; run bundler as an ordinary user"
)
_POWERS = 0xE3
"""CAP_CHOWN, DAC_OVERRIDE, KILL, SETGID, SETUID: what root needs to start, end and clear up after another."""


class NotConfined(Exception):
    """It was not started, since nothing here would hold it; ``str`` is why."""


class _Warded(Started):
    """A warden, which is told in words what another process is told by a signal."""

    def stop(self) -> None:
        self.say(warden.STOP)

    def give_up(self) -> None:
        self.say(warden.GIVE_UP)


@contextlib.contextmanager
def confined(request: Request, places: Places) -> Iterator[Started]:
    """Confined; nothing of it is left when the block ends, nor when this process is killed.

    Raises NotConfined, at the start or at the end of the block; none of its code ran then.
    """
    order = _order(request, places)
    process = _warden(_before(order))
    started = _Warded(process)
    try:
        started.say(order.line())
        yield started
    finally:
        started.give_up()
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.close()  # a full one, which nobody reads any more, would keep the warden from ending
        _wait(process, in_namespace=bool(order.confinement["apart"]))
        said = process.stdout.read().decode(errors="replace")
        started.close_pipes()
    taken, _, reason = said.partition("\n")
    if taken != warden.TAKEN:
        raise NotConfined(f"what was to confine it ended with {process.returncode} before it began")
    if reason:
        raise NotConfined(reason.strip())


def _before(order: warden.Order) -> list[str]:
    """What makes a namespace for the warden, where it takes one. Raises NotConfined."""
    try:
        return apart.command() if order.confinement["apart"] else []
    except apart.NotApart as reason:
        raise NotConfined(f"signals: {warden.lacks_scopes()}, or a namespace: {reason}") from None


def _wait(process: subprocess.Popen[bytes], *, in_namespace: bool) -> None:
    """For a namespace not for ever: it ends with its last process, which may wait for a driver for as long.
    Without one, what a killed warden has not ended yet would go on."""
    try:
        process.wait(_GONE_S if in_namespace else None)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _warden(before: list[str]) -> subprocess.Popen[bytes]:
    """Not confined: it imports what is installed, and starts far from what a stranger writes."""
    return subprocess.Popen(
        [*before, sys.executable, "-P", "-s", "-S", "-B", *_WARDEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(bundler.__file__).resolve().parent.parent)},
        cwd="/",
        start_new_session=True,
    )


def _order(request: Request, places: Places) -> warden.Order:
    device = request.device and has_gpu_nodes()
    readable = _readable(places)
    user = _user(readable, places, device)
    return warden.Order(
        command=tuple(places.command(request)),
        environment=_environment(places),
        folder=str(places.work),
        confinement=_confinement(readable, places, device),
        said=HELD.decode(),
        user=user,
    )


def _confinement(readable: list[str], places: Places, device: bool) -> dict[str, Any]:
    """A worker's, with what a replayer needs beyond it.

    CUDA's driver names threads by writing below the /proc entry of each worker, which is not there yet. So
    all of /proc is open for writing then, to a user who owns nothing there but its own processes.
    """
    worker = confinement(places.work, Allowance(0, cpu_seconds=_DAY_S, anonymous_files=device))
    writable = [path for path in worker["writable"] if not path.startswith("/proc")]
    return worker | {
        "readable": readable,
        "writable": [*writable, "/proc"] if device else writable,
        "confines": True,
        "apart": bool(warden.lacks_scopes()),
        "processes": MOST_THREADS,
        "open_files": 4096,
    }


def _readable(places: Places) -> list[str]:
    """What a worker reads, all of /proc, the replayer and the experiment, and what Python starts from."""
    worker = confinement(places.work, Allowance(0))["readable"]
    python = [
        Path(sys.executable),
        *(Path(prefix) / "pyvenv.cfg" for prefix in (sys.prefix, sys.base_prefix)),
        Path(pydantic.__file__).parent.parent,
        *(Path(p) for p in (site.getusersitepackages(),) if p in sys.path),
    ]
    paths = [*map(Path, worker), *python, places.replayer, places.experiment]
    return sorted({"/proc", *(str(p) for p in paths if p.exists() and not p.is_relative_to("/proc"))})


def _environment(places: Places) -> dict[str, str]:
    """Nothing of the caller's but what finds Python, torch and the GPU: the rest may hold secrets."""
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    work = str(places.work)
    return passed_on | {
        **places.environment(),
        "PYTHONUSERBASE": site.getuserbase(),
        "HOME": work,
        "CUDA_CACHE_PATH": work,
    }


def _user(readable: list[str], places: Places, device: bool) -> int | None:
    """Whom root is to make of it; None for the caller. Raises NotConfined."""
    if os.getuid() != 0:
        return None
    if _powers() & _POWERS == _POWERS:
        for temporary in (places.work.parent, places.experiment.parent):  # root's alone so far
            temporary.chmod(0o711)
        if _can_read(NOBODY, readable, places):
            for folder in (places.work, places.temporary):
                os.chown(folder, NOBODY, NOBODY)
            return NOBODY
    if device:
        raise NotConfined(_ROOT)
    return None


def _powers() -> int:
    """Root's capabilities, as bits; 0 where they cannot be read."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "CapEff":
                return int(value, 16)
    return 0


_LOOK = "import os, sys; sys.exit(not all(os.access(p, os.R_OK) for p in sys.argv[1:]))"


def _can_read(user: int, readable: list[str], places: Places) -> bool:
    """Whether the user could start this Python, and read all that; no code of the bundle runs."""
    files = [str(next(places.replayer.rglob("*.py"), places.replayer)), *readable]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LOOK, *files],
            user=user, group=user, extra_groups=[], cwd="/", env={}, check=False, timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
