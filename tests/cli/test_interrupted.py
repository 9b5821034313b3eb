"""Ctrl-C and SIGTERM at any moment: one line, the documented exit code, no traceback, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bundler import interrupts
from bundler.bundle.freeze import freeze
from bundler.errors import ExitCode
from bundler.files import temporary_folder
from bundler.oci.archive import write_archive
from tests.small import ID, Small

ROOT = Path(__file__).parents[2]
SIGNALS = [signal.SIGINT, signal.SIGTERM]
DELAYS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0)
"""Seconds from where bundler's own code runs. Whatever a command does by then, it ends alike."""


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A command, once its own code runs: Python handles SIGINT by itself before, and SIGTERM never."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "bundler", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while process.poll() is None and not _handles(process.pid, signal.SIGTERM):
        time.sleep(0.001)
    return process


def _handles(pid: int, number: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


@pytest.fixture
def folder(small: Small) -> Path:
    """A checkout with a bundle in it, and a folder for temporary files."""
    (small.root / "tmp").mkdir()
    write_archive(freeze(small.load(), None).image, small.root / "x.tar", reference="x:1")
    return small.root


def ends_well(folder: Path, process: subprocess.Popen[bytes]) -> bool:
    """Whether it was interrupted; fails where it ended otherwise than it says it does."""
    before = {"proof", "skills", "tmp", "x.tar"}
    out, err = process.communicate(timeout=120)
    assert b"Traceback" not in out + err, err.decode()
    assert list((folder / "tmp").iterdir()) == []
    assert {path.name for path in folder.iterdir()} - before <= {"made.tar", "out"}
    if process.returncode == ExitCode.INTERRUPTED:
        assert err.split() == [b"interrupted"]
    return process.returncode == ExitCode.INTERRUPTED


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("target", [f"proof/{ID}", pytest.param("x.tar", marks=pytest.mark.slow)])
def test_verify(folder: Path, target: str, number: signal.Signals) -> None:
    codes = set()
    for delay in DELAYS:
        process = started(folder, "verify", target, "--engine", "host", "--ground", "interpreter")
        time.sleep(delay)
        process.send_signal(number)
        ends_well(folder, process)
        codes.add(process.returncode)
    # On a machine that is fast enough the last is over by then, or had a cell.
    assert codes <= {ExitCode.INTERRUPTED, ExitCode.INCOMPLETE, ExitCode.NOTHING_JUDGED}
    assert ExitCode.INTERRUPTED in codes


@pytest.mark.parametrize(
    "command",
    [
        ["show", "x.tar"],
        ["check", f"proof/{ID}"],
        ["freeze", f"proof/{ID}", "--bare", "-o", "made.tar"],
        ["extract", "out", "--from", "x.tar"],
        ["diff", "x.tar", f"proof/{ID}"],
    ],
    ids=lambda command: command[0],
)
def test_other_commands(folder: Path, command: list[str]) -> None:
    for delay in DELAYS[:6]:
        process = started(folder, *command)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        ends_well(folder, process)


def test_at_once(folder: Path) -> None:
    """Nothing but Python's own start is over by then."""
    process = started(folder, "verify", "x.tar")
    process.send_signal(signal.SIGINT)
    assert ends_well(folder, process)


@pytest.mark.parametrize("program", ["bundler", "bundler in an image"])
def test_whoever_starts_it_handles_signals_before_the_imports(program: str) -> None:
    from bundler.bundle.content import replayer_entries

    main = {"bundler": (ROOT / "bundler/__main__.py").read_text()}.get(program)
    main = main or next(e.data.decode() for e in replayer_entries() if e.path == "__main__.py")
    assert main.index("interrupts.handle()") < main.index("from bundler.cli.")
    assert 'bundler = "bundler.__main__:main"' in (ROOT / "pyproject.toml").read_text()


# --- what is raised, and where -----------------------------------------------------------------------------


@pytest.fixture
def handled() -> Iterator[None]:
    """As in a process that is a command; pytest's own handlers come back in the end."""
    numbers = (*SIGNALS, signal.SIGALRM)
    before, hook = [signal.getsignal(number) for number in numbers], sys.unraisablehook
    interrupts.handle()
    yield
    sys.unraisablehook = hook
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("handled")
def test_what_has_to_be_undone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupted() -> None:
        with temporary_folder() as made:
            (made / "file").touch()
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("handled")
def test_an_interrupt_waits_for_a_block_and_a_second_does_not() -> None:
    done = []

    def interrupted(times: int) -> None:
        with interrupts.undoing(), interrupts.holding():
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            done.append(times)

    for times in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            interrupted(times)
    assert done == [1]


class _Cleared:
    """What Python lets no exception out of."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("handled")
def test_an_interrupt_in_a_destructor_is_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    def wait() -> None:
        one = _Cleared()
        del one
        time.sleep(10)

    with pytest.raises(KeyboardInterrupt), interrupts.undoing():
        wait()
    assert capfd.readouterr().err == ""
