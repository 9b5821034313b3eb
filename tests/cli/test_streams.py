"""What goes to which stream, when who reads it has gone, when the disk is full, when the replay is ended."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from bundler.model.evidence import Evidence
from tests.small import ID, Small, answer

ROOT = Path(__file__).parents[2]
NUMBERS = [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
COMMAND = [sys.executable, "-P", "-m", "bundler"]
SLOW = b"""\
import time
import torch


def double(x):
    time.sleep(0.5)
    return x + x
"""


def start(
    *arguments: str | Path,
    cwd: Path,
    stdout: int | IO[bytes] = subprocess.PIPE,
    progress: bool = False,
    limit: int = 0,
) -> subprocess.Popen[bytes]:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)} | (
        {"BUNDLER_PROGRESS": "lines"} if progress else {}
    )
    limited = ["prlimit", f"--fsize={limit}"] if limit else []
    return subprocess.Popen(
        [*limited, *COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=env,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    out, err = process.communicate(timeout=120)
    assert b"Traceback" not in err, err.decode()
    return process.returncode, out, err


def test_a_reader_that_has_gone(small: Small) -> None:
    for arguments in (["schema", "evidence"], ["show", str(small.write())]):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as gone:
            code, _, err = ended(start(*arguments, cwd=small.root, stdout=gone))
        assert code == 6, arguments
        assert b"Exception ignored" not in err


def test_a_full_disk(small: Small) -> None:
    for arguments in (["schema", "evidence"], ["show", str(small.write())]):
        with Path("/dev/full").open("wb") as full:
            code, _, err = ended(start(*arguments, cwd=small.root, stdout=full))
        assert code == 6, arguments
        assert err.startswith(
            b"error: the output cannot be written: No space left on device\n  \xe2\x86\x92 "
        )


def test_a_tar_that_does_not_fit(small: Small) -> None:
    small.write()
    code, out, err = ended(
        start("freeze", f"proof/{ID}", "--bare", "-o", "x.tar", cwd=small.root, limit=100_000)
    )
    assert (code, out) == (6, b"")
    assert b"File too large" in err
    assert sorted(path.name for path in small.root.iterdir()) == ["proof", "skills"]


# --- replays ---------------------------------------------------------------------------------------------

ONE_CELL = ["--ground", "interpreter", "--candidate", "with-skill/01", "--case", "n=100", "--engine", "host"]


@pytest.mark.torch
def test_json_alone_on_stdout(small: Small) -> None:
    small.write()
    code, out, err = ended(start("verify", f"proof/{ID}", *ONE_CELL, "--json", "-", cwd=small.root))
    assert code == 4, err.decode()  # nothing is recorded
    evidence = Evidence.model_validate_json(out)
    assert evidence.complete
    cells = evidence.grounds["interpreter"].cells
    assert {name: row["n=100"].outcome for name, row in cells.items()} == {
        "with-skill/01": "passed",
        "control-right/control-right": "passed",
        "control-wrong/control-wrong": "wrong",
    }
    assert (
        b"NOTHING RECORDED YET to hold this against: of the candidates' cells, 1 of 1 passed on inter" in err
    )


@pytest.mark.torch
def test_for_another_bundler_there_are_steps_and_no_report(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.write()
    monkeypatch.chdir(small.root)
    monkeypatch.setenv("BUNDLER_PROGRESS", "lines")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = [*COMMAND, "verify", f"proof/{ID}", *ONE_CELL, "--json", "-"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 4
    lines = done.stderr.decode().splitlines()
    assert [json.loads(line.removeprefix("@progress ")) for line in lines][-1] == {
        "ground": "interpreter",
        "done": 3,
        "total": 3,
    }


@pytest.mark.torch
def test_evidence_that_cannot_be_written(small: Small) -> None:
    small.write()
    command = ["verify", f"proof/{ID}", *ONE_CELL, "--json", "/dev/full/evidence.json"]
    code, out, err = ended(start(*command, cwd=small.root))
    assert (code, out) == (6, b"")
    assert b"'/dev/full/evidence.json' cannot be written" in err


@pytest.fixture
def slow(small: Small) -> Small:
    """The third candidate to run, after both controls, takes about six seconds for a cell."""
    small.arm("without-skill")["outputs"] = [small.file("outputs/without-skill/01.md", answer(SLOW))]
    small.declared["own_kernel"] = "reported"
    small.write()
    return small


LONG = ["verify", f"proof/{ID}", "--ground", "interpreter", "--jobs", "1", "--json", "x.json"]


def _left(small: Small) -> Evidence:
    evidence = Evidence.model_validate_json((small.root / "x.json").read_bytes())
    cells = evidence.grounds["interpreter"].cells
    assert not evidence.complete
    assert evidence.grounds["interpreter"].status == "judged"
    assert cells["control-right/control-right"]["n=1"].outcome == "passed"
    assert cells["with-skill/01"]["n=100"].outcome == "not-run"
    assert [len(row) for row in cells.values()] == [2, 2, 2, 2]
    return evidence


@pytest.mark.torch
@pytest.mark.parametrize("number", NUMBERS)
def test_a_replay_that_is_ended_leaves_what_it_had(slow: Small, number: signal.Signals) -> None:
    process = start(*LONG, cwd=slow.root, progress=True)
    assert process.stderr is not None
    for line in process.stderr:
        if b'"done": 4' in line:
            break
    process.send_signal(number)
    code, _, err = ended(process)
    assert code == 7, err.decode()
    _left(slow)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("number", NUMBERS)
def test_a_harness_that_never_answers_does_not_hold_an_interrupt(
    small: Small, number: signal.Signals
) -> None:
    harness = (small.folder / "harness.py").read_bytes()
    hanging = b"def inputs(case, which, make):\n    while case['n'] == 100:\n        pass\n"
    harness = harness.replace(b"def inputs(case, which, make):\n", hanging)
    small.file("harness.py", harness)
    small.write()
    process = start(*LONG, cwd=small.root, progress=True)
    assert process.stderr is not None
    for line in process.stderr:
        if b'"done": 1' in line:
            break
    time.sleep(1)
    process.send_signal(number)
    began = time.monotonic()
    code, _, err = ended(process)
    assert code == 7, err.decode()
    assert time.monotonic() - began < 20
    evidence = Evidence.model_validate_json((small.root / "x.json").read_bytes())
    assert not evidence.complete
    assert evidence.grounds["interpreter"].cells["without-skill/01"]["n=100"].outcome == "not-run"


@pytest.mark.torch
@pytest.mark.slow
def test_a_replay_that_is_killed_leaves_its_last_checkpoint(slow: Small) -> None:
    process = start(*LONG, cwd=slow.root)
    deadline = time.monotonic() + 60
    while not (slow.root / "x.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    assert ended(process)[0] == -signal.SIGKILL
    _left(slow)


def _on_a_terminal(arguments: list[str], cwd: Path) -> str:
    """All that a command writes to a terminal, control sequences included."""
    master, terminal = pty.openpty()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=env, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    written = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while data := os.read(master, 1 << 16):
            written += data
    os.close(master)
    process.wait(timeout=120)
    return written.decode()


@pytest.mark.slow
@pytest.mark.torch
def test_the_bar_is_gone_before_the_report(small: Small) -> None:
    """Two grounds have two bars, which are wiped by moving the cursor up: not over what was printed."""
    folder = str(small.write())
    grounds = ["--ground", "interpreter", "--ground", "compile", "--arch", "90"]
    written = _on_a_terminal(["verify", folder, "--no-gpu", "--engine", "host", *grounds], small.root)
    bars, _, report = written.partition("Cells passed of cells that ran")
    assert "\x1b[1A" in bars
    assert "NOTHING RECORDED YET" in report
    assert "\x1b[1A" not in report
    assert "\x1b[2K" not in report
