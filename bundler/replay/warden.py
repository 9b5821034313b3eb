"""Run a replayer that nobody vouches for: confined, watched, and gone to its last process in the end.

``python -m bundler.replay.warden``. The asker writes an Order as one line to this process's stdin and holds
that open: the system closes it when the asker is gone, by SIGKILL too. A byte on it is a wish, STOP or
GIVE_UP. The replayer has this process's stderr, where this process says why it ended the replayer, and what
of it did not end; stdout has TAKEN, and why it was not confined where it never started.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import select
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from bundler.replay.limits import END_S, MOST_THREADS, WRITABLE_BYTES
from bundler.replay.usage import overfull, threads_below
from bundler.worker import landlock, sandbox
from bundler.worker.landlock import NotHere
from bundler.worker.zygote import KILLED_S

MODULE = "bundler.replay.warden"
STOP = b"t"
"""Let it end with what it has, as by SIGTERM."""
GIVE_UP = b"k"
"""Kill it, and all that it started."""
TAKEN = "the order is taken"
"""The first line on stdout: without it no warden came to be, and nothing of the replayer ran."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_LOOK_S = 1.0


@dataclass(frozen=True)
class Order:
    """What to run, and within what."""

    command: tuple[str, ...]
    environment: dict[str, str]
    """All of it."""
    folder: str
    """Where it starts, and the one folder that it may write to."""
    confinement: dict[str, Any]
    """The fields of ``worker.sandbox.Confinement``."""
    said: str
    """What it reads on its stdin, which then stays open as long as the asker is there."""
    user: int | None = None
    """The user and group that it becomes; None for those of the asker."""
    most_threads: int = MOST_THREADS
    """RLIMIT_NPROC does not bind root, so they are counted too."""
    most_bytes: int = WRITABLE_BYTES
    """In its folder."""
    grace_s: float = END_S
    """How long it may clean up once its asker is gone."""

    def line(self) -> bytes:
        """As the warden reads it."""
        return json.dumps(dataclasses.asdict(self)).encode() + b"\n"


class Refused(Exception):
    """It was not started; ``str`` is the step that does not hold, and why."""


def lacks_scopes() -> str:
    """Why this kernel's Landlock leaves signals to a namespace; empty where it does not, or is not there."""
    here = landlock.version()
    if not 0 < here < landlock.SCOPES_VERSION:
        return ""
    return f"this kernel's Landlock has version {here}, and {landlock.SCOPES_VERSION} is needed"


def main() -> None:
    """Serve one order, and exit as the replayer did."""
    for number in _ENDING:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = Order(**json.loads(_line()))
    print(TAKEN, flush=True)
    sandbox.make_undumpable()
    sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
    try:
        if order.confinement.get("apart"):
            _check_apart()
        else:
            _enter_domain()
        status = _Ward(order).run()
    except Refused as reason:
        print(reason)
        status = 1
    sys.exit(status)


def _line() -> bytes:
    """One line, and no byte more: a wish may come right behind it."""
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        line = stdin.readline()
    if not line.endswith(b"\n"):
        sys.exit(1)  # the asker is gone
    return line


def _check_apart() -> None:
    """Raise Refused unless this is the first process of a namespace, and /proc shows that namespace alone.

    ``kill(-1)`` of that process reaches all others in there, and none outside.
    """
    try:
        seen = os.readlink("/proc/self")  # noqa: PTH115 (a number, not a path)
    except OSError as error:
        raise Refused(f"a namespace of its own: /proc cannot be read: {error.strerror}") from None
    if os.getpid() != 1 or seen != "1":
        raise Refused(f"a namespace of its own: process {os.getpid()} is {seen} in /proc, and 1 is needed")


def _enter_domain() -> None:
    """A Landlock domain, whose processes are all that signals of this one still reach. Raises Refused.

    Were it not so, ``kill(-1)`` would reach every process of the user, so it is tried.
    """
    theirs, ours = os.pipe()
    outside = _fork()
    if outside == 0:
        os.close(ours)
        os.read(theirs, 1)
        os._exit(0)
    try:
        _scope_signals()
        if _can_signal(outside):
            raise Refused("signals: they still reach other processes")
    finally:
        os.close(ours)
        os.close(theirs)
        os.waitpid(outside, 0)


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise Refused(f"no process could be forked: {error.strerror}") from None


def _scope_signals() -> None:
    try:
        sandbox.scope_signals()
    except (NotHere, OSError) as reason:
        raise Refused(f"signals: {reason}") from None


def _can_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    return True


class _Ward:
    """The replayer and all that comes of it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._pid = 0
        self._held = -1
        self._over = ""
        self._status: int | None = None

    def run(self) -> int:
        """Start it, follow it, end it; its exit status. Raises Refused."""
        try:
            self._start()
            self._follow()
        finally:
            self._end()
        if self._over:
            _say(f"the replayer was ended: it {self._over}")
        code = 1 if self._status is None else os.waitstatus_to_exitcode(self._status)
        return 128 - code if code < 0 else code

    def _start(self) -> None:
        said, say = os.pipe()
        stdin, self._held = os.pipe()
        asked = os.getpid()
        self._pid = _fork()
        if self._pid == 0:
            _become(self._order, stdin, say, asked)
        os.close(say)
        os.write(self._held, self._order.said.encode())  # with a reader here: the child may be gone by now
        os.close(stdin)
        with os.fdopen(said, "rb") as answer:
            if reason := answer.read():  # empty once it was executed
                raise Refused(reason.decode(errors="replace"))  # it may be cut within a letter

    def _follow(self) -> None:
        """Until it ends, is given up, uses too much, or was alone for too long."""
        ended = os.pidfd_open(self._pid)
        over, say_over = os.pipe()
        threading.Thread(target=self._watch, args=(say_over,), daemon=True).start()
        asker, until = [0], math.inf
        while time.monotonic() < until:
            ready, _, _ = select.select([ended, over, *asker], [], [], _LOOK_S)
            self._reap()
            if ended in ready or over in ready:
                return
            if 0 not in ready:
                continue
            wish = os.read(0, 1)
            if wish == GIVE_UP:
                return
            if wish == STOP and self._status is None:
                os.kill(self._pid, signal.SIGTERM)
            elif not wish:
                os.close(self._held)
                asker, until = [], time.monotonic() + self._order.grace_s

    def _watch(self, say_over: int) -> None:
        """Beside ``_follow``: counting what a stranger made may take long, and a wish must not wait."""
        try:
            while not self._uses_too_much():
                time.sleep(_LOOK_S)
        finally:
            os.close(say_over)

    def _uses_too_much(self) -> bool:
        threads = threads_below(os.getpid())
        if threads > self._order.most_threads:
            self._over = f"had {threads} threads, over {self._order.most_threads}"
        else:
            self._over = overfull(self._order.folder, self._order.most_bytes)
        return bool(self._over)

    def _end(self) -> None:
        """Kill all of this domain but this process, at once: nothing can be forked meanwhile.

        What waits for a driver that does not answer ends once that does, and cannot be waited for.
        """
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        until = time.monotonic() + KILLED_S
        while time.monotonic() < until:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            if not self._reap():
                return
            time.sleep(0.005)
        left = threads_below(os.getpid())
        _say(f"the replayer was killed, and {left} of its threads did not end within {KILLED_S} s")

    def _reap(self) -> bool:
        """Take what has ended off the process table; whether any child is left. Orphans come here."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid:
                    self._status = ended[1]
        except ChildProcessError:
            return False
        return True


def _say(text: str) -> None:
    """To whoever reads what the replayer prints, if anybody still does."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _become(order: Order, stdin: int, say: int, asked: int) -> NoReturn:
    """The replayer, once it is confined. ``say`` takes why it is not; executing closes it."""
    try:
        os.setsid()
        for number in (*_ENDING, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(stdin, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.chdir(order.folder)
        _change_user(order.user)
        sandbox.prctl(sandbox.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == asked:
            _execute(order)
    except (Refused, OSError, ValueError, TypeError, MemoryError) as reason:
        os.write(say, str(reason).encode(errors="replace")[:1000] or b"no reason given")
    finally:
        os._exit(1)  # whatever it was: a fork of the warden must not go on as a second one


def _change_user(user: int | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _execute(order: Order) -> None:
    report = sandbox.confine(sandbox.Confinement(**order.confinement))
    counted = ("process-limit",) if os.getuid() == 0 else ()
    lacking = [f"{n}: {a}" for n, a in report.items() if a != sandbox.HELD and n not in counted]
    if lacking:
        raise Refused("; ".join(lacking))
    os.execve(order.command[0], order.command, order.environment)  # noqa: S606 (no shell is the point)


if __name__ == "__main__":
    main()
