"""One fresh process that times one candidate on one case, asked, watched and checked from outside."""

from __future__ import annotations

import contextlib
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from pydantic import Field, ValidationError

from bundler.host import Sample, Sampler
from bundler.judge.cell import judge_cell
from bundler.judge.claims import CellClaim, Raised
from bundler.judge.compare import Array
from bundler.model.base import Frozen
from bundler.model.experiment import Case, Experiment
from bundler.model.host import Gpu, Read
from bundler.model.outcome import Passed, Shown, Wrong, kind
from bundler.model.timing import MAX_SAMPLES, ClockProbe, HostSample, Phase, ProcessTiming, Stopwatch
from bundler.replay.execute import launching
from bundler.replay.oracle import CaseData, Oracle
from bundler.replay.process import SpawnFailed, Worker, Zygote
from bundler.replay.runner import HEADER_BYTES, HELLO_S, Job
from bundler.timing.facts import number
from bundler.timing.rules import EMPTY_BYTES, LAUNCH_BOUND_US
from bundler.timing.statistics import enough
from bundler.worker import wire

WARM_S = 0.4
"""How long samples are taken and thrown away first: an idle device raises its clocks meanwhile."""
CAP_S = 3.0
"""How long a process samples at most, by the judge's clock."""
_BATCH = 40
_BATCH_BYTES = 1 << 30
_REFILL_EVERY = 4
_CHECKS = 2
_GRAPH_CALLS = 20
_REPEATS = 5
_ROUNDS_S = 0.03
_FEWEST_ROUNDS, _MOST_ROUNDS = 8, 200
_SAMPLE_S = 0.04
_MOST_HOST_SAMPLES = 24
_LOOKS, _LOOK_S = 5, 0.2

_now_s = time.perf_counter
"""The judge's own stopwatch."""
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
        return max(r.bytes_as(self.experiment.returns) for r in self.data.references)


class _Stopped(Exception):
    """The process can give no more; ``str`` is why."""


class _Done(Frozen):
    raised: None
    no_memory: Shown | None = None
    persisting_reset: bool | None = None
    covered: bool = True


class _SampleClaim(Frozen):
    raised: None
    us: tuple[float, ...] = Field((), max_length=_BATCH)
    starved: int = Field(0, ge=0, le=_BATCH)
    clocks: tuple[tuple[int, int], ...] = Field((), max_length=_BATCH)


_Claim = TypeVar("_Claim", _Done, _SampleClaim)


def _check_raised(header: dict[str, Any], during: str) -> None:
    if header.get("raised") is not None:
        raise _Stopped(f"{during}: {Raised.model_validate(header['raised']).outcome().error}")


class TimedProcess:
    """One process; ``run`` once. ``target`` is what the next process is to do."""

    def __init__(self, target: Target, gpu: Gpu, sampler: Callable[..., Sampler]) -> None:
        self.target = target
        self._gpu = gpu
        self._sampler = sampler
        self._worker: Worker
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
        host = [self._look("before")]
        problem = ""
        try:
            self._worker = zygote.spawn(self.target.job.allowance)
        except SpawnFailed as error:
            return ProcessTiming(problem=str(error)[:400], host=tuple(host))
        watcher = _Watcher(self._gpu, self._sampler, self._worker.pid)
        try:
            with watcher:
                self._all(watcher)
        except (_Stopped, SpawnFailed, wire.WireError, ValidationError, KeyError, ValueError) as error:
            problem = _said(error)
        finally:
            self._worker.close()
        host += watcher.condensed()
        host.append(self._look_after())
        return self._given(host, problem)

    def _look_after(self) -> HostSample:
        """Once the driver has taken the process's memory back, or does not do so in time."""
        for _ in range(_LOOKS):
            sample = self._look("after")
            used = number(sample.fields.get("memory_used_bytes"))
            if used is None or used < EMPTY_BYTES:
                break
            time.sleep(_LOOK_S)
        return sample

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

    def _all(self, watcher: _Watcher) -> None:
        self._worker.hello(HELLO_S)
        self._load()
        self._set_up()
        self._warm_up()
        self._decide_on_graph()
        while not self._enough():
            self._batch(watcher)
        self._time_rounds()

    def _look(self, phase: Phase) -> HostSample:
        with self._sampler(self._gpu) as sampler:
            return HostSample(phase=phase, fields=sampler.sample())

    # --- asking ------------------------------------------------------------------------------------

    def _load(self) -> None:
        job = self.target.job
        answer = self._message(job.load_request(), [job.source], 0)
        _check_raised(answer.header, "loading it")

    def _ask(self, header: dict[str, Any], parts: Sequence[Any], claim: type[_Claim]) -> _Claim:
        message = self._message(header, parts, 0)
        _check_raised(message.header, header["action"])
        return claim.model_validate(message.header)

    def _message(self, header: dict[str, Any], parts: Sequence[Any], payload: int) -> wire.Message:
        seconds = self.target.experiment.limits.cell_seconds
        limits = wire.Limits(header_bytes=HEADER_BYTES, payload_bytes=payload)
        return self._worker.ask(header, parts, seconds=seconds, limits=limits)

    def _do(self, action: str, **fields: Any) -> _Done:
        return self._ask({"op": "time", "action": action, **fields}, [], _Done)

    # --- set up --------------------------------------------------------------------------------------

    def _set_up(self) -> None:
        """All sets in buffers of their own where there is memory for them, else one."""
        for sets in dict.fromkeys((self.target.sets, 1)):
            header = {"op": "time", "action": "setup", "flush_bytes": self.target.flush_bytes}
            header["sets"] = self.target.data.sets[:sets]
            header |= launching(self.target.job, self.target.case, self.target.data)
            answer = self._ask(header, [self.target.data.payload], _Done)
            if answer.no_memory is None:
                self.target = replace(self.target, sets=sets)
                self._holding = list(range(sets))
                self._reset = answer.persisting_reset
                return
        raise _Stopped(f"no memory for the inputs: {answer.no_memory}")

    def _warm_up(self) -> None:
        ends = time.monotonic() + WARM_S
        while time.monotonic() < ends:
            self._ask(self._sampling(self._order(8)), [], _SampleClaim)

    def _decide_on_graph(self) -> None:
        """Where launches dominate, capture calls in a graph; where that fails, events it is."""
        if self.target.graph is None:
            claim = self._ask(self._sampling(self._order(8)), [], _SampleClaim)
            if float(np.median(claim.us)) > LAUNCH_BOUND_US:
                self.target = replace(self.target, graph=False)
                return
        if self.target.graph is False:
            return
        self._graph_order = self._order(_GRAPH_CALLS)
        try:
            self._do("capture", order=self._graph_order)
            self.target = replace(self.target, graph=True)
        except _Stopped:
            self.target = replace(self.target, graph=False)

    def _sampling(self, order: Sequence[int]) -> dict[str, Any]:
        return {"op": "time", "action": "sample", "order": list(order)}

    def _order(self, count: int) -> list[int]:
        """Buffers in an order that nobody can know beforehand."""
        return [_chance.randrange(self.target.sets) for _ in range(count)]

    # --- samples -------------------------------------------------------------------------------------

    def _enough(self) -> bool:
        if self._wrong or self._seconds >= CAP_S or len(self._samples) >= MAX_SAMPLES:
            return True
        return enough(self._samples, self._seconds)

    def _batch(self, watcher: _Watcher) -> None:
        """Some samples on values in buffers that change, and a look at what some of the calls returned."""
        count = min(_BATCH, max(_CHECKS, _BATCH_BYTES // max(1, self.target.right_bytes)))
        if len(self._samples) // count % _REFILL_EVERY == 0:
            _chance.shuffle(self._holding)
            self._do("fill", holding=self._holding)
        order = self._order(count)
        started = time.monotonic()
        with watcher.watching():
            claim = self._ask(self._sampling(order), [], _SampleClaim)
        self._seconds += time.monotonic() - started
        if len(claim.us) != count:
            raise _Stopped(f"{len(claim.us)} samples were answered, {count} asked for")
        self._samples += claim.us
        self._starved += claim.starved
        self._clocks += [ClockProbe(cycles=cycles, ns=ns) for cycles, ns in claim.clocks][:2]
        self._check(self._graph_order if self.target.graph else order)

    def _check(self, order: Sequence[int]) -> None:
        """Hold what some calls returned against the reference; which ones was not known when they ran."""
        positions = _chance.sample(range(len(order)), min(_CHECKS, len(order)))
        plan = tuple(self._holding[order[position]] for position in positions)
        most = self.target.right_bytes
        header = {"op": "time", "action": "outputs", "positions": positions, "output_bytes": most}
        message = self._message(header, [], most * len(positions))
        _check_raised(message.header, "outputs")
        claim = CellClaim.model_validate({"calls": message.header["calls"]})
        outcome = judge_cell(
            self.target.experiment, plan, claim, memoryview(message.payload), self.target.data.references,
            self._derive,
        )  # fmt: skip
        self._checked += len(positions)
        if not isinstance(outcome, Passed):
            self._wrong = (outcome.detail if isinstance(outcome, Wrong) else kind(outcome))[:1000]

    def _derive(self, which: int, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
        first = len(self.target.experiment.returns)
        shapes = [array.shape for array in self.target.data.references[which].arrays[first:]]
        return self.target.oracle.derive(self.target.case, which, outputs, shapes)

    # --- the stopwatch -------------------------------------------------------------------------------

    def _time_rounds(self) -> None:
        """N and 2N rounds with and without the call, again and again, by this process's clock."""
        few = [self._rounds(n * _FEWEST_ROUNDS, 2 * _FEWEST_ROUNDS, True)[0] for n in (1, 2)]
        each = max((few[1] - few[0]) / _FEWEST_ROUNDS, 1e-6)
        count = int(min(_MOST_ROUNDS, max(_FEWEST_ROUNDS, _ROUNDS_S / each)))
        with_call, without, covered = [], [], True
        for _ in range(_REPEATS):
            once, twice = (self._rounds(n * count, 2 * count, True) for n in (1, 2))
            covered = covered and once[1] and twice[1]
            with_call.append((once[0], twice[0]))
            if self.target.flush_bytes:
                alone = [self._rounds(n * count, 2 * count, False)[0] for n in (1, 2)]
                without.append((alone[0], alone[1]))
        self._stopwatch = Stopwatch(
            calls=count * self.target.calls_a_sample,
            with_call=tuple(with_call),
            without_call=tuple(without),
            covered=covered,
        )

    def _rounds(self, count: int, most: int, call: bool) -> tuple[float, bool]:
        """Seconds for ``count`` rounds behind a block for ``most``, and whether all were behind it."""
        order = self._order(count)
        started = _now_s()
        answer = self._do("rounds", order=order, call=call, most=most)
        return _now_s() - started, answer.covered


def _said(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return f"its answer broke the protocol: {error.errors()[0]['msg']}"
    return str(error) or type(error).__name__


class _Watcher:
    """Samples the device while requests for samples are under way."""

    def __init__(self, gpu: Gpu, sampler: Callable[..., Sampler], pid: int) -> None:
        self._gpu, self._new, self._pid = gpu, sampler, pid
        self._active = threading.Event()
        self._ended = threading.Event()
        self._found: list[HostSample] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._active.set()
        self._thread.join()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """For the time of one request."""
        self._active.set()
        try:
            yield
        finally:
            self._active.clear()

    def _run(self) -> None:
        with self._new(self._gpu, own=(self._pid,)) as others, self._new(self._gpu) as everyone:
            while not self._ended.is_set():
                self._active.wait()
                if self._ended.wait(_SAMPLE_S) or not self._active.is_set():
                    continue
                sample = others.sample()
                if self._active.is_set():  # it was all the while, or is again: a batch follows a batch
                    own = None if self._found else _lists_own(sample, everyone.sample())
                    self._found.append(HostSample(phase="during", fields=sample, lists_own=own))

    def condensed(self) -> list[HostSample]:
        """The first, the last, and every one that differs in what decides from the one before it."""
        kept: list[HostSample] = []
        for index, sample in enumerate(self._found):
            last = index == len(self._found) - 1
            if last or not kept or _deciding(sample) != _deciding(kept[-1]):
                kept.append(sample)
        return kept[:_MOST_HOST_SAMPLES]


_DECIDING = ("event_reasons_mask", "memory_clock_mhz", "other_compute_processes", "other_graphics_processes")


def _deciding(sample: HostSample) -> tuple[object, ...]:
    return tuple(sample.fields.get(name) for name in _DECIDING)


def _lists_own(others: Sample, everyone: Sample) -> bool | None:
    """Whether the list of processes has the one that is not counted among the others."""
    name = "other_compute_processes"
    fewer, all_ = others.get(name), everyone.get(name)
    if not (isinstance(fewer, Read) and isinstance(all_, Read)):
        return None
    return int(str(all_.value)) > int(str(fewer.value))
