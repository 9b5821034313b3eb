"""One fresh process that times one candidate on one case, asked, watched and checked from outside."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import ValidationError

from bundler.host import Sampler
from bundler.judge.cell import judge_cell
from bundler.model.experiment import Case, Experiment, Ground
from bundler.model.host import Gpu
from bundler.model.outcome import Passed, Wrong, kind
from bundler.model.timing import MAX_SAMPLES, ClockProbe, HostSample, ProcessTiming, Stopwatch
from bundler.replay.answers import OutOfForm, first_fault
from bundler.replay.execute import deriving, launching
from bundler.replay.oracle import CaseData, DeriveFailed, Oracle
from bundler.replay.process import SpawnFailed
from bundler.replay.remote_timer import BATCH, RemoteTimer, Stopped
from bundler.replay.rounds import time_rounds
from bundler.replay.runner import Job
from bundler.replay.watcher import Watcher, look, look_after
from bundler.replay.zygote import Zygote
from bundler.timing.samples import LAUNCH_BOUND_US
from bundler.timing.statistics import enough
from bundler.worker import wire

WARM_S = 0.4
"""How long samples are taken and thrown away first: an idle device raises its clocks meanwhile."""
CAP_S = 3.0
"""How long a process samples at most, by the judge's clock."""
_BATCH_BYTES = 1 << 30
"""Of outputs that a batch leaves on the device: they are held until some of them are checked."""
_REFILL_EVERY = 4
_CHECKS = 2
_GRAPH_CALLS = 20
_now_s = time.monotonic
_chance = random.Random(secrets.randbits(128))  # noqa: S311 (seeded from what no candidate can know)


@dataclass(frozen=True)
class Target:
    """What is timed, and what was found to be possible with it."""

    job: Job
    experiment: Experiment
    """With what this case returns."""
    case: Case
    data: CaseData
    oracle: Oracle
    flush_bytes: int
    sets: int
    graph: bool | None = None
    """Whether calls are timed in a graph; None until the first process has tried."""

    @property
    def calls_a_sample(self) -> int:
        """How many calls one sample is divided by."""
        return _GRAPH_CALLS if self.graph else 1

    @property
    def right_bytes(self) -> int:
        """Bytes of a right answer."""
        return self.data.right_bytes(self.experiment.returns)


class TimedProcess:
    """One process; ``run`` once. ``target`` is what the next process is to do."""

    def __init__(self, target: Target, gpu: Gpu, sampler: Callable[..., Sampler]) -> None:
        self.target = target
        self._gpu = gpu
        self._sampler = sampler
        self._timer: RemoteTimer
        self._graph_order: list[int] = []
        self._holding: list[int] = []
        """The set whose values each buffer has."""
        self._samples: list[float] = []
        self._clocks: list[ClockProbe] = []
        self._starved = 0
        self._seconds = 0.0
        self._checked = 0
        self._wrong = ""
        self._reset: bool | None = None
        self._stopwatch: Stopwatch | None = None

    def run(self, zygote: Zygote) -> ProcessTiming:
        """Start it, time, end it, with the device's state before, during and after."""
        host = [look(self._gpu, self._sampler, "before")]
        problem, gone = "", False
        try:
            worker = zygote.spawn(self.target.job.allowance)
        except SpawnFailed as error:
            return ProcessTiming(problem=str(error)[:400], host=tuple(host))
        seconds = self.target.experiment.cell_seconds(self.target.case, Ground.DEVICE)
        self._timer = RemoteTimer(worker, self.target.job, seconds)
        watcher = Watcher(self._gpu, self._sampler, worker.pid)
        try:
            with watcher:
                self._all(watcher)
        except (
            Stopped, SpawnFailed, DeriveFailed, wire.WireError, ValidationError, KeyError, ValueError,
        ) as error:  # fmt: skip
            problem, gone = _said(error), isinstance(error, wire.PeerGone)
        finally:
            ended = worker.close()
        if gone:
            problem = f"the process {ended.over or ended.detail}"
        host += watcher.condensed()
        host.append(look_after(self._gpu, self._sampler))
        return self._given(host, problem)

    def _given(self, host: Sequence[HostSample], problem: str) -> ProcessTiming:
        return ProcessTiming(
            samples_us=tuple(round(us, 4) for us in self._samples[:MAX_SAMPLES]),
            starved=self._starved,
            seconds=round(self._seconds, 3),
            converged=enough(self._samples, self._seconds),
            clocks=tuple(self._clocks),
            stopwatch=self._stopwatch,
            checked=self._checked,
            wrong=self._wrong,
            persisting_reset=self._reset,
            host=tuple(host),
            problem=problem[:1000],
        )

    def _all(self, watcher: Watcher) -> None:
        self._timer.load()
        self._set_up()
        self._warm_up()
        self._decide_on_graph()
        while not self._enough():
            self._batch(watcher)
        self._stopwatch = time_rounds(
            self._timer,
            self._order,
            calls_a_round=self.target.calls_a_sample,
            without=bool(self.target.flush_bytes),
        )

    # --- set up --------------------------------------------------------------------------------------

    def _set_up(self) -> None:
        """All sets in buffers of their own where there is memory for them, else one."""
        data = self.target.data
        for sets in dict.fromkeys((self.target.sets, 1)):
            answer = self._timer.do(
                "setup",
                [data.payload],
                flush_bytes=self.target.flush_bytes,
                sets=data.sets[:sets],
                **launching(self.target.job, self.target.case, data),
            )
            if answer.no_memory is None:
                self.target = replace(self.target, sets=sets)
                self._holding = list(range(sets))
                self._reset = answer.persisting_reset
                return
        raise Stopped(f"no memory for the inputs: {answer.no_memory}")

    def _warm_up(self) -> None:
        ends = _now_s() + WARM_S
        while _now_s() < ends:
            self._timer.sample(self._order(8))

    def _decide_on_graph(self) -> None:
        """Where launches dominate, capture calls in a graph; where that fails, events it is."""
        if self.target.graph is None:
            claim = self._timer.sample(self._order(8))
            if float(np.median(claim.us)) > LAUNCH_BOUND_US:
                self.target = replace(self.target, graph=False)
                return
        if self.target.graph is False:
            return
        self._graph_order = self._order(_GRAPH_CALLS)
        try:
            self._timer.do("capture", order=self._graph_order)
            self.target = replace(self.target, graph=True)
        except Stopped:
            self.target = replace(self.target, graph=False)

    def _order(self, count: int) -> list[int]:
        """Buffers in an order that nobody can know beforehand."""
        return [_chance.randrange(self.target.sets) for _ in range(count)]

    # --- samples -------------------------------------------------------------------------------------

    def _enough(self) -> bool:
        if self._wrong or self._seconds >= CAP_S or len(self._samples) >= MAX_SAMPLES:
            return True
        return enough(self._samples, self._seconds)

    def _batch(self, watcher: Watcher) -> None:
        """Some samples on values in buffers that change, and a look at what some of the calls returned."""
        count = min(BATCH, max(_CHECKS, _BATCH_BYTES // max(1, self.target.right_bytes)))
        if len(self._samples) // count % _REFILL_EVERY == 0:
            _chance.shuffle(self._holding)
            self._timer.do("fill", holding=self._holding)
        order = self._order(count)
        started = _now_s()
        with watcher.watching():
            claim = self._timer.sample(order)
        self._seconds += _now_s() - started
        if len(claim.us) != count:
            raise Stopped(f"{len(claim.us)} samples were answered, {count} asked for")
        self._samples += claim.us
        self._starved += claim.starved
        self._clocks += [ClockProbe(cycles=cycles, ns=ns) for cycles, ns in claim.clocks][:2]
        self._check(self._graph_order if self.target.graph else order)

    def _check(self, order: Sequence[int]) -> None:
        """Hold what some calls returned against the reference; which ones was not known when they ran."""
        positions = _chance.sample(range(len(order)), min(_CHECKS, len(order)))
        plan = tuple(self._holding[order[position]] for position in positions)
        claim, payload = self._timer.outputs(positions, self.target.right_bytes)
        experiment, data = self.target.experiment, self.target.data
        derive = deriving(self.target.oracle, self.target.case, experiment, data)
        outcome = judge_cell(experiment, plan, claim, payload, data.references, derive)
        self._checked += len(positions)
        if not isinstance(outcome, Passed):
            self._wrong = (outcome.detail if isinstance(outcome, Wrong) else kind(outcome))[:1000]


def _said(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return f"its answer broke the protocol: {first_fault(error)}"
    if isinstance(error, OutOfForm):
        return f"its answer broke the protocol: {error}"
    return str(error) or type(error).__name__
