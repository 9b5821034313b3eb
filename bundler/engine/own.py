"""The bundle's own replayer on this machine, without a container: unpacked, run, followed to its end.

What it answers is held against what was asked, as a container's answer is.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from bundler.bundle.unpack import Parts, unpack_replayer
from bundler.engine.inside import Lines
from bundler.engine.process import Places, Start, Started
from bundler.errors import BadBundle, BadEvidence, ExitCode, UnavailableError
from bundler.experiment.parse import MAX_FILE_BYTES, parse_evidence
from bundler.files import NotAFile, read_at_most, temporary_folder
from bundler.model.evidence import Evidence
from bundler.replay.limits import END_S
from bundler.replay.removal import remove
from bundler.replay.request import Request, Step, Watch

_NAME = "the bundle's own replayer"
_LATE_BYTES = 1 << 20
"""What is still read once it ended: a pipe holds no more, and a child of its own may write on for ever."""
_LOOK_S = 0.1


def run_own(
    bundle: Parts, folder: Path, request: Request, watch: Watch, say: Callable[[str], None], start: Start
) -> Evidence:
    """The evidence of ``request`` as the bundle's own replayer has it; ``say`` takes what it prints.

    ``folder``: the unpacked experiment; ``start``: how it is run. The replayer's files, and all that it
    writes, are gone in the end. Ctrl-C asks it to end with the cells that it had. Raises KeyboardInterrupt
    when it had none, BadBundle, BadEvidence or UnavailableError when it gives no evidence, and what ``start``
    raises.
    """
    # A stranger writes to it, and may still be at work in it while it is removed.
    with temporary_folder(remove) as scratch:
        places = Places(scratch / "replayer", folder, scratch / "work")
        unpack_replayer(bundle, places.replayer)
        places.temporary.mkdir(parents=True)
        answer = _Answer(places.answer, watch)
        with start(request, places) as started:
            interrupted = _followed(started, Lines(answer.step, say))
        evidence = answer.read()
    if evidence is None:
        raise KeyboardInterrupt if interrupted else _no_evidence(started.process.returncode)
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
        changed = self._changed()
        if changed != self._seen:
            self._seen = changed
            if (evidence := self.read()) is not None:
                self._watch.checkpoint(evidence)

    def _changed(self) -> int:
        try:
            return self.path.lstat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def read(self) -> Evidence | None:
        """What it wrote; None when that is nothing. Raises BadEvidence."""
        try:
            data = read_at_most(self.path, MAX_FILE_BYTES, follow=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            why = "not a regular file" if isinstance(error, NotAFile) else error.strerror
            raise BadEvidence(
                f"what {_NAME} left in place of its evidence cannot be read: {why}",
                hint="do not trust this bundle",
            ) from None
        if len(data) > MAX_FILE_BYTES:
            raise BadEvidence(f"{_NAME} wrote over {MAX_FILE_BYTES} bytes", hint="do not trust this bundle")
        return parse_evidence(data, f"the answer of {_NAME}")


def _followed(started: Started, lines: Lines) -> bool:
    """Follow it to its end; whether it was interrupted. A second Ctrl-C gives up on it."""
    try:
        _drain(started.process, lines)
    except KeyboardInterrupt:
        started.stop()
        late = threading.Timer(END_S, started.give_up)
        late.start()
        try:
            _drain(started.process, lines)
        finally:
            late.cancel()
            late.join()
        return True
    return False


def _drain(process: subprocess.Popen[bytes], lines: Lines) -> None:
    """Take what it prints until it ends, whoever else still has its stderr open then."""
    assert process.stderr is not None
    printed = process.stderr.fileno()
    late = 0
    while late < _LATE_BYTES:
        ended = _has_ended(process)  # before the look: all that it printed is in the pipe then
        ready, _, _ = select.select([printed], [], [], 0 if ended else _LOOK_S)
        data = os.read(printed, 1 << 16) if ready else b""
        if ended and not data:
            return
        if ready and not data:
            break
        lines(data)
        late += len(data) if ended else 0
    _has_ended(process, os.WEXITED | os.WNOWAIT)


def _has_ended(process: subprocess.Popen[bytes], how: int = os.WEXITED | os.WNOWAIT | os.WNOHANG) -> bool:
    """Whether it has, without taking its end: whoever started it does that."""
    return os.waitid(os.P_PID, process.pid, how) is not None


def _no_evidence(code: int) -> BadBundle | UnavailableError:
    kind = UnavailableError if code == ExitCode.UNAVAILABLE else BadBundle
    return kind(
        f"{_NAME} ended with {code} and gave no evidence",
        hint="what it printed says why; --engine docker runs it in its container",
    )
