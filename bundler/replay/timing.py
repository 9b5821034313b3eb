"""Time the cells that an experiment names, in fresh processes that take turns, on the device ground."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bundler.errors import BadExperiment
from bundler.experiment.load import Loaded
from bundler.host import Sampler
from bundler.model.experiment import Candidate, Case, Experiment
from bundler.model.expression import BadExpression, Extents, evaluate
from bundler.model.host import Gpu, Read
from bundler.model.outcome import Mark, Outcome, Passed, kind
from bundler.model.timing import Cache, Method, ProcessTiming, TimedCell, TimingPlan, Timings
from bundler.replay.allowance import Allowance
from bundler.replay.oracle import CaseData, Oracle
from bundler.replay.runner import Job
from bundler.replay.timed_process import Target, TimedProcess
from bundler.replay.zygote import Zygote
from bundler.timing.judge import judge_timing
from bundler.timing.peaks import FLUSH_L2
from bundler.timing.recorded import wanted
from bundler.timing.samples import MIN_PROCESSES

Grid = Mapping[str, Mapping[str, Outcome]]


@dataclass(frozen=True)
class Bench:
    """What timing needs of a replay."""

    loaded: Loaded
    zygote: Zygote
    oracle: Oracle
    gpu: Gpu
    """The device that CUDA calls 0, as the host's record has it."""
    allowance: Allowance
    processes: int = MIN_PROCESSES
    step: Callable[[int, int], None] = lambda done, total: None
    stopped: threading.Event = field(default_factory=threading.Event)
    sampler: Callable[..., Sampler] = Sampler
    invalid: str = ""
    """Why nothing may be timed; empty where something may."""

    @property
    def experiment(self) -> Experiment:
        """What is timed."""
        return self.loaded.experiment

    @property
    def plan(self) -> TimingPlan:
        """What the experiment wants."""
        assert self.experiment.timing is not None
        return self.experiment.timing


def time_cells(
    bench: Bench, candidates: Sequence[Candidate], cases: Sequence[Case], cells: Grid, *, invalid: str = ""
) -> Timings:
    """Every candidate of the plan's arms on every case of the plan, as far as both were selected.

    ``cells``: the device ground's outcomes; what did not pass there is not timed. ``invalid``: why that
    ground is, and nothing is timed then. An interrupted run gives the cases that it had finished.
    """
    if invalid:
        bench = replace(bench, invalid=f"the device ground is invalid: {invalid}")
    ones = [candidate for candidate in candidates if wanted(bench.plan, candidate)]
    timed = [case for case in cases if case.id in bench.plan.cases]
    found: list[TimedCell] = []
    for number, case in enumerate(timed):
        found += _time_case(bench, ones, case, cells, number, len(timed))
        if bench.stopped.is_set():
            break
    return Timings(gpu=bench.gpu.index, interleaved=True, cells=tuple(found))


def _time_case(
    bench: Bench, wanted: Sequence[Candidate], case: Case, cells: Grid, number: int, of: int
) -> Iterator[TimedCell]:
    refused = {c.id: why for c in wanted if (why := _why_not(bench, c, case, cells))}
    ready = [candidate for candidate in wanted if candidate.id not in refused]
    lines = {}
    if ready:
        data = bench.oracle.case(case)
        lines = {candidate.id: _Line(bench, candidate, case, data) for candidate in ready}
    for turn in range(bench.processes):
        for place, candidate in enumerate(ready):
            lines[candidate.id].run()
            done = number * bench.processes * len(ready) + turn * len(ready) + place + 1
            bench.step(done, of * bench.processes * len(ready))
            if bench.stopped.is_set():
                return
    for candidate in wanted:
        yield (
            lines[candidate.id].cell()
            if candidate.id in lines
            else _not_timed(bench, candidate, case, refused[candidate.id])
        )


def _why_not(bench: Bench, candidate: Candidate, case: Case, cells: Grid) -> str:
    """Why a candidate is not timed on a case; empty when it is."""
    if bench.invalid:
        return bench.invalid[:1000]
    outcome = cells.get(candidate.id, {}).get(case.id)
    if not isinstance(outcome, Passed):
        return f"its cell on the device is {kind(outcome)}" if outcome else "its cell was not judged"
    if Mark.INPUT_CHANGED in outcome.marks:
        return "it changes its input, so a second call would have other values"
    if not isinstance(bench.gpu.fields.get("l2_bytes"), Read) and bench.plan.cache is Cache.COLD:
        return "the size of the L2 was not read, so it cannot be flushed"
    return ""


def _not_timed(bench: Bench, candidate: Candidate, case: Case, why: str) -> TimedCell:
    return TimedCell(
        candidate=candidate.id, case=case.id, cache=bench.plan.cache, call_bytes=0, sets=0, not_timed=why
    )


class _Line:
    """The processes of one candidate on one case, one after another."""

    def __init__(self, bench: Bench, candidate: Candidate, case: Case, data: CaseData) -> None:
        self._bench = bench
        self._experiment = bench.experiment.judging(case)
        self._case = case
        self._data = data
        source = bench.loaded.sources[candidate.id]
        self._job = Job(bench.experiment, candidate, source, bench.allowance)
        self._target = Target(
            job=self._job,
            experiment=self._experiment,
            case=case,
            data=data,
            oracle=bench.oracle,
            flush_bytes=_flush_bytes(bench),
            sets=len(data.sets),
        )
        plan = bench.plan
        self._bytes = _work(case, data, plan.bytes)
        self._flops = None if plan.flops is None else _work(case, data, plan.flops)
        self._processes: list[ProcessTiming] = []

    def run(self) -> None:
        """One more process; what the first one found to be possible holds for the others."""
        process = TimedProcess(self._target, self._bench.gpu, self._bench.sampler)
        self._processes.append(process.run(self._bench.zygote))
        self._target = process.target

    def cell(self) -> TimedCell:
        """All of it, judged."""
        plan, target = self._bench.plan, self._target
        cell = TimedCell(
            candidate=self._job.candidate.id,
            case=self._case.id,
            cache=plan.cache,
            method=Method.GRAPH if target.graph else Method.EVENTS,
            calls_a_sample=target.calls_a_sample,
            call_bytes=self._data.argument_bytes + target.right_bytes,
            sets=target.sets,
            flush_bytes=target.flush_bytes,
            bytes=self._bytes,
            flops=self._flops,
            processes=tuple(self._processes),
        )
        return cell.model_copy(update={"verdict": judge_timing(cell, self._bench.gpu)})


def _flush_bytes(bench: Bench) -> int:
    l2 = bench.gpu.fields.get("l2_bytes")
    if bench.plan.cache is Cache.WARM or not isinstance(l2, Read):
        return 0
    return int(FLUSH_L2 * int(str(l2.value)))


def _work(case: Case, data: CaseData, expression: str | int) -> float:
    tensors = [
        Extents(tuple(spec["shape"]), tuple(spec["strides"])) if spec["kind"] == "tensor" else None
        for spec in data.sets[0]
    ]
    try:
        return float(evaluate(expression, case.params, tensors))
    except BadExpression as problem:
        raise BadExperiment(
            f"timing: {expression!r} on case {case.id!r}: {problem}",
            hint="bytes and flops are arithmetic over the case's parameters, as cuda's grid is",
        ) from None
