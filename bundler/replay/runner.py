"""One candidate: its cells, in fresh processes where a crash makes that necessary."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from bundler.judge.cell import Raised
from bundler.model.experiment import Candidate, Case, Experiment
from bundler.model.outcome import Crashed, Outcome, TimedOut
from bundler.replay.process import Allowance, Ended, Worker, Zygote
from bundler.worker import wire

LOAD_S = 120
HEADER_BYTES = 4 << 20


class Lost(Exception):
    """The worker cannot go on: with an outcome, or None where how it ended is the outcome."""

    def __init__(self, outcome: Outcome | None) -> None:
        super().__init__()
        self.outcome = outcome


class _ImportFailed(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


@dataclass(frozen=True)
class Job:
    """A candidate and what it takes to run it."""

    experiment: Experiment
    candidate: Candidate
    source: bytes
    allowance: Allowance


@dataclass
class Session:
    """What running one candidate left behind beside its outcomes."""

    isolation: dict[str, str] = field(default_factory=dict)
    tuned: dict[str, str] = field(default_factory=dict)
    printed: bytes = b""


@dataclass(frozen=True)
class Unit:
    """A case on grounds that one request answers: one, or several architectures."""

    case: Case
    grounds: tuple[str, ...]

    def split(self) -> Iterator[Unit]:
        """One unit a ground."""
        return (Unit(self.case, (ground,)) for ground in self.grounds)


Ask = Callable[[Worker, Unit], Mapping[str, Outcome]]
"""Ask a worker for one unit: an outcome for each of its grounds. Raises Lost when the worker cannot go on."""


def run_units(
    job: Job, zygote: Zygote, units: Iterable[Unit], ask: Ask, session: Session
) -> Iterator[tuple[Unit, Mapping[str, Outcome]]]:
    """Every unit in turn, in one process as long as that lives.

    When the process is lost in a unit that was not its first, or that has several grounds, the unit's
    grounds are tried again, each in a process of its own, and what happens there counts: what an earlier
    cell ruined is not this cell's fault. From then on each unit has a fresh process.
    """
    line = _Line(job, zygote, session)
    waiting = deque(units)
    try:
        while waiting:
            unit = waiting.popleft()
            result = line.try_unit(unit, ask)
            if result is None:
                waiting.extendleft(reversed(list(unit.split())))
            else:
                yield unit, result
    finally:
        line.end()


class _Line:
    """The succession of processes that serve one candidate."""

    def __init__(self, job: Job, zygote: Zygote, session: Session) -> None:
        self._job = job
        self._zygote = zygote
        self._session = session
        self._worker: Worker | None = None
        self._one_by_one = False
        self._import_failed: Outcome | None = None

    def try_unit(self, unit: Unit, ask: Ask) -> Mapping[str, Outcome] | None:
        """The outcomes, or None when the unit has to be tried again, split."""
        if self._import_failed is not None:
            return dict.fromkeys(unit.grounds, self._import_failed)
        if self._one_by_one:
            self.end()
        fresh = self._worker is None
        try:
            return ask(self._worker or self._start(), unit)
        except _ImportFailed as failed:
            self._import_failed = failed.outcome
            return dict.fromkeys(unit.grounds, failed.outcome)
        except Lost as lost:
            self._one_by_one = True
            ended = self.end()
            outcome = lost.outcome or Crashed(detail=ended.over or ended.detail)
        again = len(unit.grounds) > 1 or (not fresh and not isinstance(outcome, TimedOut))
        return None if again else dict.fromkeys(unit.grounds, outcome)

    def _start(self) -> Worker:
        worker = self._worker = self._zygote.spawn(self._job.allowance)
        header = {"op": "load", "entry": self._job.experiment.entry}
        with lost_when(worker, LOAD_S):
            worker.hello(LOAD_S)
            self._session.isolation = self._session.isolation or worker.isolation
            limits = wire.Limits(header_bytes=HEADER_BYTES)
            message = worker.ask(header, [self._job.source], seconds=LOAD_S, limits=limits)
            if message.header.get("raised") is not None:
                raise _ImportFailed(Raised.model_validate(message.header["raised"]).outcome())
        return worker

    def end(self) -> Ended:
        """End the process that is there, and keep what it printed."""
        if self._worker is None:
            return Ended("no process was started")
        worker, self._worker = self._worker, None
        ended = worker.close()
        self._session.printed = self._session.printed or worker.printed
        return ended


@contextlib.contextmanager
def lost_when(worker: Worker, seconds: float) -> Iterator[None]:
    """Turn what goes wrong on the wire into what it means for the cell."""
    try:
        yield
    except wire.DeadlinePassed:
        worker.kill()
        raise Lost(TimedOut(limit_seconds=seconds)) from None
    except wire.PeerGone:
        raise Lost(None) from None
    except (wire.WireError, ValidationError, ValueError, KeyError, TypeError) as error:
        worker.kill()
        text = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise Lost(Crashed(detail=f"its answer broke the protocol: {text[:300]}")) from None
