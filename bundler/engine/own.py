"""The bundle's own replayer on this machine, without a container: unpacked, and run in a process of its own.

What it answers is held against what was asked, as a container's answer is.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from bundler.bundle.unpack import Parts, unpack_replayer
from bundler.engine.inside import Lines, arguments
from bundler.engine.lifeline import HELD
from bundler.errors import BadBundle, BadEvidence, ExitCode, UnavailableError
from bundler.experiment.parse import parse_evidence
from bundler.model.evidence import Evidence
from bundler.replay.request import Request, Step, Watch

MAX_EVIDENCE_BYTES = 64 << 20
STOP_S = 30
"""How long an interrupted replay has to hand over the cells that it had."""
_NAME = "the bundle's own replayer"


def run_own(
    bundle: Parts, folder: Path, request: Request, watch: Watch, say: Callable[[str], None]
) -> Evidence:
    """The evidence of ``request`` as the bundle's own replayer has it; ``say`` takes what it prints.

    ``folder``: the unpacked experiment. The replayer's files, and all that it writes to the temporary
    folder, are gone in the end. Ctrl-C asks it to end with the cells that it had. Raises KeyboardInterrupt
    when it had none, BadBundle, BadEvidence or UnavailableError when it gives no evidence.
    """
    # A stranger's replayer may still be at work in there while it is removed.
    with tempfile.TemporaryDirectory(prefix="bundler-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        unpack_replayer(bundle, scratch / "replayer")
        (scratch / "tmp").mkdir()
        answer = _Answer(scratch / "evidence.json", watch)
        with _started(request, folder, scratch) as process:
            interrupted = _followed(process, Lines(answer.step, say))
        evidence = answer.read()
    if evidence is None:
        raise KeyboardInterrupt if interrupted else _no_evidence(process.returncode)
    return evidence


class _Answer:
    """The file that the replayer writes, again and again, as it goes; each state is passed on once."""

    def __init__(self, path: Path, watch: Watch) -> None:
        self.path = path
        self._watch = watch
        self._seen = 0

    def step(self, now: Step) -> None:
        """Progress; what the replayer has written by now is passed on."""
        self._watch.step(now)
        changed = self.path.stat().st_mtime_ns if self.path.exists() else 0
        if changed != self._seen:
            self._seen = changed
            if (evidence := self.read()) is not None:
                self._watch.checkpoint(evidence)

    def read(self) -> Evidence | None:
        """What it wrote; None when that is nothing."""
        try:
            with self.path.open("rb") as stream:
                data = stream.read(MAX_EVIDENCE_BYTES + 1)
        except FileNotFoundError:
            return None
        if len(data) > MAX_EVIDENCE_BYTES:
            raise BadEvidence(
                f"{_NAME} wrote over {MAX_EVIDENCE_BYTES} bytes", hint="do not trust this bundle"
            )
        return parse_evidence(data, f"the answer of {_NAME}")


@contextlib.contextmanager
def _started(request: Request, folder: Path, scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The replayer, started; it is gone when the block ends.

    Python puts the folder that it is told to run first on its path, before whatever is installed. A session
    of its own keeps a terminal's Ctrl-C from it: the asker passes that on, once.
    """
    root, answer = str(scratch / "replayer"), str(scratch / "evidence.json")
    process = subprocess.Popen(
        [sys.executable, "-P", "-B", root, *arguments(request, answer)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=_environment(root, folder, scratch / "tmp"),
        cwd=scratch,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _environment(root: str, folder: Path, temporary: Path) -> dict[str, str]:
    """The caller's, since it decides where torch and the GPU are found."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", "")))),
        "BUNDLER_BUNDLE": str(folder),
        "BUNDLER_PROGRESS": "lines",
        "TMPDIR": str(temporary),
    }


def _followed(process: subprocess.Popen[bytes], lines: Lines) -> bool:
    """Follow it to its end; whether it was interrupted. A second Ctrl-C gives up on it."""
    try:
        _hold(process)
        _drain(process, lines)
    except KeyboardInterrupt:
        process.terminate()
        late = threading.Timer(STOP_S, process.kill)
        late.start()
        try:
            _drain(process, lines)
        finally:
            late.cancel()
        return True
    return False


def _hold(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(HELD)
        process.stdin.flush()


def _drain(process: subprocess.Popen[bytes], lines: Lines) -> None:
    assert process.stderr is not None
    while data := os.read(process.stderr.fileno(), 1 << 16):
        lines(data)
    process.wait()


def _no_evidence(code: int) -> BadBundle | UnavailableError:
    kind = UnavailableError if code == ExitCode.UNAVAILABLE else BadBundle
    return kind(
        f"{_NAME} ended with {code} and gave no evidence",
        hint="what it printed says why; --engine docker runs it in its container",
    )
