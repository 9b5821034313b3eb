"""Every candidate through a ground's processes: the source kernel first, crowded cells again, alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bundler.model.experiment import Candidate, Case, Experiment, Ground, Origin
from bundler.model.outcome import NotRun, Outcome, Why
from bundler.replay import pool
from bundler.replay.allowance import allowance_for
from bundler.replay.record import Progress, Record
from bundler.replay.runner import Job, Session, Unit, lacked_a_process
from bundler.replay.zygote import Zygote

Answers = Iterator[tuple[Unit, Mapping[str, Outcome]]]
"""What became of a candidate's units, in turn."""
Waiting = Sequence[tuple[Candidate, list[Unit]]]


@dataclass(frozen=True)
class Work:
    """What a ground, or several that share processes, does with a candidate."""

    grounds: tuple[str, ...]
    units: Callable[[Candidate], list[Unit]]
    """What is to be run; why something is not, ``units`` itself puts into the record."""
    run: Callable[[Job, Session, list[Unit]], Answers]
    zygotes: tuple[Zygote, ...]
    """Of the processes that ``run`` asks, beside the harness's."""
    stop_harness: Callable[[], None]

    @property
    def on_device(self) -> bool:
        """Whether candidates run on the GPU."""
        return Ground.DEVICE in self.grounds

    def kill(self) -> None:
        """End every process that ``run`` may wait for."""
        for zygote in self.zygotes:
            zygote.close()
        self.stop_harness()


def drive(record: Record, work: Work, jobs: int) -> None:
    """Every candidate, ``jobs`` at a time, each in processes of its own.

    The source kernel comes before what is held against it, and controls before what they speak for, so that
    a replay that is cut short can be judged. On the device, cells that what ran beside them may explain are
    tried again alone, and what happens there counts. So are, on every ground, cells for which the host had
    no process left: another candidate may have had them, or others of the same user.
    """
    every = [(candidate, work.units(candidate)) for candidate in record.candidates]
    waiting = [(candidate, units) for candidate, units in every if units]
    sources = [(c, units) for c, units in waiting if c.arm.origin is Origin.SOURCE]
    others = [(c, units) for c, units in waiting if c.arm.origin is not Origin.SOURCE]
    others.sort(key=lambda one: not one[0].arm.is_control)
    total = sum(len(unit.grounds) for _, units in waiting for unit in units)
    line = _Line(record, work, Progress(work.grounds[0].split(":")[0], total))
    line.pass_through(sources, 1)
    line.pass_again()
    line.pass_through(others, jobs, crowded=jobs > 1 and work.on_device)
    line.pass_again()


class _Line:
    def __init__(self, record: Record, work: Work, progress: Progress) -> None:
        self._record = record
        self._work = work
        self._progress = progress
        self._again: list[tuple[Candidate, list[Unit]]] = []
        """What crowding may explain."""

    def pass_through(self, waiting: Waiting, jobs: int, *, crowded: bool = False, last: bool = False) -> None:
        """Some candidates; ``crowded``: they may be in each other's way; ``last``: nothing is put off."""
        tasks = [partial(self._one, candidate, units, crowded, last) for candidate, units in waiting]
        pool.run_all(tasks, jobs, self._record.stop, self._work.kill)

    def pass_again(self) -> None:
        """What was put off, alone."""
        again, self._again = self._again, []
        self.pass_through(again, 1, last=True)

    def _one(self, candidate: Candidate, units: list[Unit], crowded: bool, last: bool) -> None:
        session = Session()
        put_off = []
        for unit, outcomes in self._work.run(self._job(candidate, units), session, units):
            lacked = lacked_a_process(outcomes) or pool.was_refused(outcomes)
            if (crowded and pool.crowded_out(outcomes)) or (lacked and not last):
                put_off.append(unit)
            else:
                self._record.cells.put(candidate, unit.case, pool.settled(outcomes))
                self._record.step(self._progress, len(outcomes))
            if self._record.stop.is_set():
                return
        self._record.keep(self._work.grounds, candidate, session)
        if put_off:
            self._again.append((candidate, put_off))

    def _job(self, candidate: Candidate, units: list[Unit]) -> Job:
        loaded = self._record.loaded
        slow_s = sum(_slow_seconds(loaded.experiment, unit) for unit in units)
        allowance = allowance_for(loaded.experiment.limits, on_device=self._work.on_device, slow_s=slow_s)
        return Job(loaded.experiment, candidate, loaded.sources[candidate.id], allowance)


def _slow_seconds(experiment: Experiment, unit: Unit) -> float:
    grounds = (Ground(name.split(":")[0]) for name in unit.grounds)
    return sum(experiment.cell_seconds(unit.case, each) for each in grounds if each in unit.case.slow)


def open_units(
    record: Record, candidate: Candidate, why_not: Callable[[Case], Mapping[str, Outcome | None]]
) -> list[Unit]:
    """A unit for each case, of the grounds that ``why_not`` has no outcome for; the others are recorded."""
    units = []
    for case in record.cases:
        reasons = why_not(case)
        known = {ground: reason for ground, reason in reasons.items() if reason is not None}
        record.cells.put(candidate, case, known)
        if left := tuple(ground for ground in reasons if ground not in known):
            units.append(Unit(case, left))
    return units


def not_on(case: Case, ground: Ground) -> Outcome | None:
    """The reason why a case has no cell on a ground; None when it has one."""
    if ground in case.grounds:
        return None
    return NotRun(why=Why.NOT_ON_THIS_GROUND, detail=f"the case is for {', '.join(case.grounds)}")


def slow_on(record: Record, case: Case, ground: Ground) -> Outcome | None:
    """The reason why a slow cell is left out; None when it is asked for, or not slow."""
    if record.request.slow or ground not in case.slow:
        return None
    return NotRun(why=Why.SLOW, detail=f"slow on {_SAID[ground]}; --slow runs it")


_SAID = {
    Ground.DEVICE: "the device", Ground.INTERPRETER: "the interpreter", Ground.COMPILE: "the compile grounds",
}  # fmt: skip
