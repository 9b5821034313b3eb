"""One candidate: its cells, in fresh processes where a crash makes that necessary."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, ValidationError

from bundler.judge.claims import Raised
from bundler.model.base import Frozen
from bundler.model.experiment import Candidate, Case, Experiment, Language
from bundler.model.outcome import Crashed, Failed, Mark, Outcome, Passed, Phase, Shown, TimedOut
from bundler.replay import without
from bundler.replay.allowance import Allowance
from bundler.replay.answers import first_fault, read
from bundler.replay.process import HELLO_S, Ended, Refused, SpawnFailed, Worker
from bundler.replay.zygote import Zygote
from bundler.worker import wire

HEADER_BYTES = 4 << 20
"""Of an answer: what a candidate raised or tuned, or the kernels of a case on all architectures."""


class Lost(Exception):
    """The worker cannot go on: with an outcome, or None where how it ended is the outcome.

    ``decide`` gives the outcome where that can be told only once the worker has ended and holds nothing.
    """

    def __init__(self, outcome: Outcome | None, decide: Callable[[], Outcome] | None = None) -> None:
        super().__init__()
        self.outcome = outcome
        self.decide = decide


class _ImportFailed(Exception):
    """The candidate cannot be loaded: every cell has this outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class Loaded(Frozen):
    """A worker's answer once it has loaded a candidate in Triton, whose code has run by then."""

    raised: Raised | None = None
    versions: dict[str, Shown] = Field({}, max_length=16)
    """For whoever reads the wire: the judge has its own."""


class LoadedCuda(Loaded):
    """The same of CUDA C++, of which nothing has run."""

    unsupported: Shown = ""


@dataclass(frozen=True)
class Job:
    """A candidate and what it takes to run it."""

    experiment: Experiment
    candidate: Candidate
    source: bytes
    allowance: Allowance

    @property
    def language(self) -> Language:
        """What the candidate is written in."""
        return self.experiment.language_of(self.candidate.arm)

    def loaded(self, message: wire.Message) -> tuple[Raised | None, str]:
        """What a worker says that has loaded the source: what was raised, why the host does not support it.

        Raises ValueError where it says anything else.
        """
        if self.language is Language.CUDA:
            cuda = read(LoadedCuda, message.header)
            return cuda.raised, cuda.unsupported
        return read(Loaded, message.header).raised, ""

    def load_request(self) -> dict[str, Any]:
        """What a worker is told of the source that it loads."""
        request = {"op": "load", "entry": self.experiment.entry}
        if self.language is Language.TRITON:
            return request
        call = self.experiment.cuda
        assert call is not None  # the model sees to it
        return request | {
            "language": self.language.value,
            "options": list(call.options),
            "parameters": [[one.name, *one.kernel_bytes] for one in call.arguments],
        }


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


def lacked_a_process(outcomes: Mapping[str, Outcome]) -> bool:
    """Whether a worker says that the host would start no process or thread more."""
    return any(
        isinstance(outcome, Failed) and outcome.resource == "no-process" for outcome in outcomes.values()
    )


def run_units(
    job: Job, zygote: Zygote, units: Iterable[Unit], ask: Ask, session: Session
) -> Iterator[tuple[Unit, Mapping[str, Outcome]]]:
    """Every unit in turn, in one process as long as that lives.

    When the process is lost in a unit that was not its first, or that has several grounds, the unit's
    grounds are tried again, each in a process of its own, and what happens there counts: what an earlier
    cell ruined is not this cell's fault; where it is right alone, a mark says so. From then on each unit
    has a fresh process.
    """
    line = _Line(job, zygote, session)
    waiting = deque((unit, False) for unit in units)
    try:
        while waiting:
            unit, again = waiting.popleft()
            result = line.try_unit(unit, ask)
            if result is None:
                waiting.extendleft((part, True) for part in reversed(list(unit.split())))
            else:
                yield unit, _right_alone(result) if again and line.ruined else result
    finally:
        line.end()


def _right_alone(result: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    return {
        ground: outcome.model_copy(update={"marks": (*outcome.marks, Mark.RIGHT_ALONE)})
        if isinstance(outcome, Passed)
        else outcome
        for ground, outcome in result.items()
    }


class _Line:
    """The succession of processes that serve one candidate."""

    def __init__(self, job: Job, zygote: Zygote, session: Session) -> None:
        self._job = job
        self._zygote = zygote
        self._session = session
        self._worker: Worker | None = None
        self._one_by_one = False
        self._import_failed: Outcome | None = None
        self.ruined = False
        """Whether the process that was lost last had answered other units before."""

    def try_unit(self, unit: Unit, ask: Ask) -> Mapping[str, Outcome] | None:
        """The outcomes, or None when the unit has to be tried again, split."""
        if self._import_failed is not None:
            return dict.fromkeys(unit.grounds, self._import_failed)
        if self._one_by_one:
            self.end()
        fresh = self._worker is None
        try:
            return self._unless_it_took_all(self._asked(ask, self._worker or self._start(), unit))
        except _ImportFailed as failed:
            self._import_failed = failed.outcome
            return self._unless_it_took_all(dict.fromkeys(unit.grounds, failed.outcome))
        except SpawnFailed as reason:
            self.end()
            return dict.fromkeys(unit.grounds, Refused(detail=str(reason)[:1000]))
        except Lost as lost:
            outcome = self._lost(lost)
        self._one_by_one = True
        again = len(unit.grounds) > 1 or (not fresh and not isinstance(outcome, TimedOut))
        self.ruined = not fresh
        return None if again else dict.fromkeys(unit.grounds, outcome)

    def _asked(self, ask: Ask, worker: Worker, unit: Unit) -> Mapping[str, Outcome]:
        """What ``ask`` gives. While a candidate's process is there, it may be what has all the threads."""
        try:
            return ask(worker, unit)
        except SpawnFailed as reason:
            text = f"while its process was there, {reason}"[:2000]
            raise Lost(Failed(phase=Phase.RUN, error=text, resource="no-process")) from None

    def _unless_it_took_all(self, outcomes: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
        """``outcomes``; a process that says that the host starts no more is ended before that is tried."""
        if lacked_a_process(outcomes):
            self.end()
        return outcomes

    def _lost(self, lost: Lost) -> Outcome:
        """The outcome of a unit whose process is lost; how that ended says it where nothing else does."""
        ended = self.end()
        outcome = lost.decide() if lost.decide else lost.outcome
        return outcome or Crashed(detail=ended.over or ended.detail)

    def _start(self) -> Worker:
        """A process that has loaded the candidate; one that does not survive that is not tried again."""
        worker = self._worker = self._zygote.spawn(self._job.allowance)
        worker.hello(HELLO_S)
        self._session.isolation = self._session.isolation or worker.isolation
        try:
            self._load(worker)
        except Lost as lost:
            raise _ImportFailed(self._lost(lost)) from None
        return worker

    def _load(self, worker: Worker) -> None:
        header = self._job.load_request()
        seconds = self._job.experiment.limits.cell_seconds
        with lost_when(worker, seconds):
            limits = wire.Limits(header_bytes=HEADER_BYTES)
            message = worker.ask(header, [self._job.source], seconds=seconds, limits=limits)
            raised, unsupported = self._job.loaded(message)
        if raised is not None:
            raise _ImportFailed(raised.outcome())
        if unsupported:
            raise _ImportFailed(without.unsupported(self._zygote, self._job.allowance, unsupported))

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
        text = first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise Lost(Crashed(detail=f"its answer broke the protocol: {text[:300]}")) from None
