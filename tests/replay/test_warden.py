"""What ends a confined replayer, and what it is not started without."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bundler.engine import apart
from bundler.replay import warden
from bundler.worker import sandbox
from tests.engine.processes import running_from
from tests.engine.ways import NAMESPACE, WARDEN_BEFORE_SCOPES, WAYS

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("way")
READABLE = ("/usr", "/lib", "/lib64", "/bin", "/proc", sys.prefix, sys.base_prefix)


@dataclass(frozen=True)
class Way:
    """How a warden is started here."""

    apart: bool = False
    before: tuple[str, ...] = ()
    program: tuple[str, ...] = ("-m", warden.MODULE)


_way = Way()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    """Every test is of both."""
    if request.param == NAMESPACE:
        chosen = Way(True, tuple(apart.command()), WARDEN_BEFORE_SCOPES)
        monkeypatch.setattr(f"{__name__}._way", chosen)
    return _way


def order(folder: Path, program: str) -> warden.Order:
    limits = {
        "readable": READABLE,
        "writable": [str(folder), "/dev/null"],
        "confines": True,
        "apart": _way.apart,
        "processes": 2048,
    }
    command = (sys.executable, "-I", "-S", "-c", program, f"{folder}/x")
    return warden.Order(command, {}, str(folder), limits, "\n")


def start(
    order: warden.Order,
    before: Callable[[], None] | None = None,
    behind: bytes = b"",
    as_: tuple[str, ...] | None = None,
) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*_way.before, sys.executable, *(as_ or _way.program)],
        stdin=pipe, stdout=pipe, stderr=pipe, cwd=REPOSITORY, start_new_session=True,
        preexec_fn=before,  # noqa: PLW1509
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(order.line() + behind)
    process.stdin.flush()
    return process


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Its status, why it was not started, and what it printed, once it ends by itself."""
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().decode() == f"{warden.TAKEN}\n"
    said, printed = process.stdout.read().decode(), process.stderr.read().decode()
    status = process.wait(30)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    return status, said, printed


STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
        open(f"{sys.argv[1]}{os.getpid()}", "w").close()
        time.sleep(60)
if os.fork() == 0:
    while True:  # another process every time that one looks
        try:
            if os.fork(): os._exit(0)
        except BlockingIOError:
            pass
open(sys.argv[1], "w").close()
LAST
"""


def started(process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + 20
    while len(list(folder.glob("x*"))) < 7:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_it_says_is_passed_on(tmp_path: Path) -> None:
    program = "import sys; print('no'); print('yes', file=sys.stderr); sys.exit(len(sys.stdin.read(1)) + 4)"
    assert ended(start(order(tmp_path, program))) == (5, "", "yes\n")


def test_a_signal_is_told_as_a_shell_does(tmp_path: Path) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert ended(start(order(tmp_path, program))) == (137, "", "")


def test_nothing_is_left_when_it_ends(tmp_path: Path) -> None:
    process = start(order(tmp_path, STUBBORN.replace("LAST", "sys.exit(3)")))
    assert ended(process) == (3, "", "")
    assert len(list(tmp_path.glob("x*"))) > 1
    assert running_from(tmp_path) == []


@pytest.mark.parametrize("wish", [warden.GIVE_UP, b""], ids=["given up", "the asker is gone"])
def test_nothing_is_left_when_it_is_ended(tmp_path: Path, wish: bytes) -> None:
    process = start(replace(order(tmp_path, STUBBORN.replace("LAST", "time.sleep(60)")), grace_s=0.5))
    started(process, tmp_path)
    assert process.stdin is not None
    process.stdin.write(wish)
    process.stdin.close()
    assert ended(process) == (137, "", "")
    assert running_from(tmp_path) == []


def test_a_signal_to_the_warden_ends_it_all(tmp_path: Path, way: Way) -> None:
    process = start(order(tmp_path, STUBBORN.replace("LAST", "time.sleep(60)")))
    started(process, tmp_path)
    process.kill() if way.apart else process.terminate()  # the process is unshare there
    assert ended(process) == (-9 if way.apart else 143, "", "")
    assert running_from(tmp_path) == []


def test_it_may_end_with_what_it_has(tmp_path: Path) -> None:
    program = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
open(sys.argv[1], "w").close()
time.sleep(60)
"""
    process = start(order(tmp_path, program))
    while not (tmp_path / "x").exists():
        time.sleep(0.05)
    assert process.stdin is not None
    process.stdin.write(warden.STOP)
    process.stdin.flush()
    assert ended(process) == (7, "", "")


@pytest.mark.parametrize(("wish", "status"), [(warden.STOP, 143), (warden.GIVE_UP, 137)])
def test_a_wish_right_behind_the_order(tmp_path: Path, wish: bytes, status: int) -> None:
    """As by a Ctrl-C while the warden is still being started: it has both in one piece."""
    asked = order(tmp_path, "import time; time.sleep(60)")
    process = start(asked, behind=wish)
    assert ended(process) == (status, "", "")


def test_its_stdin_ends_with_the_asker(tmp_path: Path) -> None:
    process = start(order(tmp_path, "import sys; assert sys.stdin.read() == '\\n'; sys.exit(8)"))
    assert process.stdin is not None
    process.stdin.close()
    assert ended(process) == (8, "", "")


@pytest.mark.parametrize(
    ("limit", "does", "said"),
    [
        ({"most_threads": 5}, "[os.fork() for _ in range(3)]", "had 8 threads, over 5"),
        ({"most_bytes": 1 << 20}, "open('x', 'wb').write(bytes(3 << 20))", "wrote [23] MiB to its folder"),
    ],
)  # fmt: skip
def test_too_much(tmp_path: Path, limit: dict[str, Any], does: str, said: str) -> None:
    program = f"import os, time; {does}; time.sleep(60)"
    status, _, printed = ended(start(replace(order(tmp_path, program), **limit)))
    assert status == 137
    assert re.match(f"the replayer was ended: it {said}", printed)
    assert running_from(tmp_path) == []


SLOW_COUNT = """
import time
from bundler.replay import warden
def slowly(folder, most):
    open(folder + "/y", "w").close()
    time.sleep(5)
    return "was counted"
warden.overfull = slowly
warden.main()
"""


def test_a_wish_does_not_wait_until_all_is_counted(tmp_path: Path) -> None:
    process = start(order(tmp_path, "import time; time.sleep(60)"), as_=("-c", SLOW_COUNT))
    while not (tmp_path / "y").exists():
        time.sleep(0.02)
    assert process.stdin is not None
    process.stdin.write(warden.GIVE_UP)
    process.stdin.flush()
    assert ended(process) == (137, "", "")


DEATHLESS = """
import os
from bundler.replay import warden
kill, warden.KILLED_S = os.kill, 0.1
os.kill = lambda pid, number: kill(pid, 0 if pid == -1 else number)
warden.main()
"""


def test_what_does_not_end_is_said(tmp_path: Path) -> None:
    """As what waits for a driver. Here the warden only seems to kill it; it ends with the warden."""
    asked = order(tmp_path, "import time; time.sleep(60)")
    status, said, printed = ended(start(asked, behind=warden.GIVE_UP, as_=("-c", DEATHLESS)))
    assert (status, said) == (1, "")
    assert printed == "the replayer was killed, and 1 of its threads did not end within 0.1 s\n"


# --- where it is not started ------------------------------------------------------------------------------


def test_what_cannot_be_executed(tmp_path: Path) -> None:
    status, said, _ = ended(start(replace(order(tmp_path, ""), command=("/nowhere",))))
    assert (status, said) == (1, "[Errno 2] No such file or directory: '/nowhere'\n")


def test_why_it_was_not_started_is_told_however_soon_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its stdin has no reader any more when it is spoken to."""

    def fork() -> int:
        if child := os.fork():
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        return child

    monkeypatch.setattr(warden, "_fork", fork)
    ward = warden._Ward(order(tmp_path / "missing", ""))
    with pytest.raises(warden.Refused, match="No such file"):
        ward._start()
    os.waitpid(ward._pid, 0)
    os.close(ward._held)


@pytest.mark.parametrize("start_of_it", ["/", "//"])
def test_a_reason_that_is_cut_within_a_letter(tmp_path: Path, start_of_it: str) -> None:
    command = (start_of_it + "é" * 600,)
    status, said, _ = ended(start(replace(order(tmp_path, ""), command=command)))
    assert (status, said[:28]) == (1, "[Errno 36] File name too lon")


_CAPSET = {"x86_64": 126, "aarch64": 91}


def _without(number: int) -> None:
    """Take a system call away, as on a kernel that does not have it."""
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(buffer))
    fprog = ctypes.create_string_buffer(header, len(header))
    sandbox.prctl(sandbox.PR_SET_NO_NEW_PRIVS, 1)
    sandbox.prctl(sandbox.PR_SET_SECCOMP, 2, ctypes.addressof(fprog))


def test_without_landlock_it_is_not_started(tmp_path: Path, way: Way) -> None:
    asked = order(tmp_path, "import sys; open(sys.argv[1], 'w')")
    program = ("-m", warden.MODULE)
    status, said, _ = ended(start(asked, lambda: _without(444), as_=program))
    step = "landlock" if way.apart else "signals"
    assert (status, said) == (1, f"{step}: this kernel has no Landlock\n")
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_hold_is_named(tmp_path: Path) -> None:
    asked = order(tmp_path, "import sys; open(sys.argv[1], 'w')")
    status, said, _ = ended(start(asked, lambda: _without(_CAPSET[platform.machine()])))
    assert (status, said) == (1, "no-capabilities: refused: Function not implemented\n")
    assert list(tmp_path.iterdir()) == []


def _refuse() -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize(
    ("scope", "said"),
    [(_refuse, "signals: .*not permitted"), (lambda: None, "signals: they still reach other processes")],
)
def test_it_kills_nobody_where_signals_are_not_kept_apart(
    scope: Callable[[], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill(-1) would reach every process of the user there. No domain is entered here."""
    monkeypatch.setattr(sandbox, "scope_signals", scope)
    with pytest.raises(warden.Refused, match=said):
        warden._enter_domain()


@pytest.mark.parametrize(("pid", "seen"), [(7, "7"), (1, "4711"), (7, "1")])
def test_it_kills_nobody_where_it_is_not_the_first_of_a_namespace(
    pid: int, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor counts what others have, in a /proc that is not its own."""
    monkeypatch.setattr(os, "getpid", lambda: pid)
    monkeypatch.setattr(os, "readlink", lambda _: seen)
    with pytest.raises(warden.Refused, match=f"process {pid} is {seen} in /proc, and 1 is needed"):
        warden._check_apart()
