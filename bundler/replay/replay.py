"""Run an experiment's candidates again, on every ground that was asked for, and record what came of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import bundler
from bundler.digest import Digest
from bundler.errors import UnavailableError
from bundler.experiment.load import Loaded
from bundler.host import probe_host
from bundler.judge.controls import misbehaviour
from bundler.judge.source_kernel import SourceOutputs
from bundler.model.evidence import SCHEMA, Evidence, GroundReport, Settings, Subject
from bundler.model.experiment import Candidate, Case, Experiment, Ground, Language, Origin
from bundler.model.host import Host
from bundler.model.outcome import NotRun, Outcome, Why
from bundler.model.timing import Timings
from bundler.replay import compile as compile_ground
from bundler.replay import execute, pool
from bundler.replay.allowance import Allowance
from bundler.replay.cells import Cells, Grid, renumber
from bundler.replay.cross_check import cross_checked
from bundler.replay.cuda_compile import run_cuda_units
from bundler.replay.device import Device, lacks, probe, too_old, why_not_started
from bundler.replay.guard import watch_state
from bundler.replay.oracle import Oracle
from bundler.replay.process import Zygote, ZygoteFailed
from bundler.replay.request import Request, Step, Watch, processors
from bundler.replay.runner import Job, Session, Unit, run_units
from bundler.replay.timing import Bench, time_cells
from bundler.worker.sandbox import make_undumpable

_GIB = 1 << 30
_NO_CUDA = "Triton's interpreter runs no CUDA C++"
_CHECKPOINT_S = 5.0

Answers = Iterator[tuple[Unit, Mapping[str, Outcome]]]
"""What became of a candidate's units, in turn."""


def replay(loaded: Loaded, request: Request, watch: Watch) -> Evidence:
    """Judge every cell of ``request`` and return the record; an interrupted replay returns what it had.

    Raises BadExperiment when the harness fails, UnavailableError when no process can be started.
    """
    return _Replay(loaded, request, watch).run()


class _Replay:
    def __init__(self, loaded: Loaded, request: Request, watch: Watch) -> None:
        self._loaded = loaded
        self._request = request
        self._watch = watch
        self._candidates = _selected(loaded.experiment, request.candidates)
        self._cases = tuple(
            case for case in loaded.experiment.expand() if request.cases is None or case.id in request.cases
        )
        self._cells = Cells(request.grounds(), self._candidates, self._cases)
        self._kernels = compile_ground.KernelTable()
        self._grounds: dict[str, _Ground] = {name: _Ground() for name in request.grounds()}
        self._judge_isolation = {"undumpable": make_undumpable(), "usage-watch": watch_state()}
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._checkpoint_at = self._clock + _CHECKPOINT_S
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._stop_harness: Callable[[], None] = lambda: None
        self._host: Host = probe_host()
        self._cross_check: dict[str, Outcome] = {}
        self._timings: Timings | None = None

    def run(self) -> Evidence:
        """All grounds in turn."""
        complete = False
        with contextlib.ExitStack() as stack:
            try:
                self._all_grounds(stack)
                complete = True
            except KeyboardInterrupt:
                self._stop.set()
        return self._evidence(complete=complete)

    def _all_grounds(self, stack: contextlib.ExitStack) -> None:
        oracle_zygote = stack.enter_context(_zygote("oracle"))
        oracle = stack.enter_context(
            Oracle(oracle_zygote, self._loaded.experiment, self._loaded.harness, self._request.seed)
        )
        self._stop_harness = oracle.stop
        if self._loaded.experiment.cross_check is not None:
            self._cross_check = dict(cross_checked(self._loaded.experiment, self._cases, oracle))
        self._judge_isolation["harness"] = _summary(oracle.isolation)
        if self._request.device or self._request.architectures:
            if self._request.device or Language.TRITON in self._languages:
                assembler = compile_ground.Assembler(stack.enter_context(_zygote("assembler")))
                stack.callback(assembler.close)
            else:
                assembler = None
            if self._request.device:
                assert assembler is not None
                self._device(oracle, assembler)
            if self._request.architectures:
                self._compile(oracle, assembler)
        if self._request.interpreter:
            self._interpreter(oracle)

    # --- grounds -----------------------------------------------------------------------------------

    def _device(self, oracle: Oracle, assembler: compile_ground.Assembler) -> None:
        name = Ground.DEVICE.value
        with self._timed([name]):
            if not self._host.gpus:
                return self._not_available(name, Why.NO_DEVICE, self._host.no_gpu)
            try:
                zygote = Zygote("device")
            except ZygoteFailed as error:
                folder = tempfile.gettempdir()
                reason = why_not_started(_last_line(error), folder, os.statvfs(folder).f_flag)
                return self._not_available(name, Why.NO_DEVICE, reason)
            with zygote:
                device = probe(zygote, assembler)
                if device.why_not:
                    unsupported = device.why_not.startswith("host unsupported")
                    why = Why.UNSUPPORTED_HOST if unsupported else Why.NO_DEVICE
                    return self._not_available(name, why, device.why_not)
                jobs = self._request.jobs or pool.device_jobs(device, processors())
                self._execute(name, zygote, oracle, jobs=jobs, device=device)
                self._time(zygote, oracle)
        return None

    def _time(self, zygote: Zygote, oracle: Oracle) -> None:
        """Time what the experiment names, where that was asked for."""
        gpu = self._host.cuda_device()
        if not self._request.time or self._loaded.experiment.timing is None or gpu is None:
            return
        name = Ground.DEVICE.value
        bench = Bench(
            self._loaded, zygote, oracle, gpu, self._allowance([name]),
            step=lambda done, total: self._watch.step(Step(name, done, total)), stopped=self._stop,
        )  # fmt: skip
        self._timings = time_cells(bench, self._candidates, self._cases, self._cells.snapshot()[name])

    def _interpreter(self, oracle: Oracle) -> None:
        name = Ground.INTERPRETER.value
        if Language.TRITON not in self._languages:
            return self._not_available(name, Why.NOT_ON_THIS_GROUND, _NO_CUDA)
        with self._timed([name]), _zygote(name, {"TRITON_INTERPRET": "1"}) as zygote:
            self._execute(name, zygote, oracle, jobs=self._request.cpu_jobs, device=None)
        return None

    def _execute(
        self, name: str, zygote: Zygote, oracle: Oracle, *, jobs: int, device: Device | None
    ) -> None:
        def units(candidate: Candidate) -> list[Unit]:
            ready = []
            cuda = self._language(candidate) is Language.CUDA
            reason: Outcome | None
            for case in self._cases:
                reason = _not_on(case, Ground(name)) or (lacks(case, device) if device else None)
                if cuda and device is None:
                    reason = NotRun(why=Why.NOT_ON_THIS_GROUND, detail=_NO_CUDA)
                if reason is not None:
                    self._cells.put(candidate, case, {name: reason})
                else:
                    ready.append(Unit(case, (name,)))
            return ready

        sources = SourceOutputs()

        def run(job: Job, session: Session, its: list[Unit]) -> Answers:
            ask = execute.caller(
                job, oracle, session, zygote, on_device=device is not None, source_outputs=sources
            )
            return run_units(job, zygote, its, ask, session)

        self._drive([zygote], [name], units, run, jobs)

    def _compile(self, oracle: Oracle, assembler: compile_ground.Assembler | None) -> None:
        names = [f"compile:sm_{sm}" for sm in self._request.architectures]
        with self._timed(names), contextlib.ExitStack() as stack:
            zygotes: dict[Language, Zygote] = {}
            missing = ""
            if Language.TRITON in self._languages:
                zygotes[Language.TRITON] = stack.enter_context(_zygote("compile"))
            if Language.CUDA in self._languages:
                try:
                    zygotes[Language.CUDA] = stack.enter_context(Zygote("nvrtc"))
                except ZygoteFailed as error:
                    missing = f"NVRTC could not be loaded: {_last_line(error)}"
            if not zygotes:
                for name in names:
                    self._not_available(name, Why.UNSUPPORTED_HOST, missing)
                return
            self._compile_with(zygotes, missing, names, oracle, assembler)

    def _compile_with(
        self,
        zygotes: Mapping[Language, Zygote],
        missing: str,
        names: Sequence[str],
        oracle: Oracle,
        assembler: compile_ground.Assembler | None,
    ) -> None:
        def units(candidate: Candidate) -> list[Unit]:
            ready = []
            for case in self._cases:
                if self._language(candidate) not in zygotes:
                    absent = NotRun(why=Why.UNSUPPORTED_HOST, detail=missing)
                    self._cells.put(candidate, case, dict.fromkeys(names, absent))
                    continue
                skipped = {
                    f"compile:sm_{sm}": reason
                    for sm in self._request.architectures
                    if (reason := _not_on(case, Ground.COMPILE) or too_old(case, sm))
                }
                self._cells.put(candidate, case, skipped)
                if left := tuple(name for name in names if name not in skipped):
                    ready.append(Unit(case, left))
            return ready

        def run(job: Job, session: Session, its: list[Unit]) -> Answers:
            zygote = zygotes[job.language]
            if job.language is Language.CUDA:
                return run_cuda_units(job, zygote, its, oracle, self._kernels, session)
            assert assembler is not None  # there is one wherever a candidate is in Triton
            ask = compile_ground.compiler(job, oracle, assembler, self._kernels)
            return run_units(job, zygote, its, ask, session)

        self._drive(list(zygotes.values()), names, units, run, self._request.cpu_jobs)

    # --- candidates --------------------------------------------------------------------------------

    @property
    def _languages(self) -> set[Language]:
        return {self._language(candidate) for candidate in self._candidates}

    def _language(self, candidate: Candidate) -> Language:
        return self._loaded.experiment.language_of(candidate.arm)

    def _drive(
        self,
        zygotes: Sequence[Zygote],
        names: Sequence[str],
        units: Callable[[Candidate], list[Unit]],
        run: Callable[[Job, Session, list[Unit]], Answers],
        jobs: int,
    ) -> None:
        """Every candidate, ``jobs`` at a time, each in processes of its own.

        The source kernel comes before what is held against it. On the device, cells that what ran beside
        them may explain are tried again alone, and what happens there counts.
        """
        waiting = [(candidate, units(candidate)) for candidate in self._candidates]
        sources = [(c, its) for c, its in waiting if c.arm.origin is Origin.SOURCE]
        others = [(c, its) for c, its in waiting if c.arm.origin is not Origin.SOURCE]
        again: list[tuple[Candidate, list[Unit]]] = []
        progress = _Progress(names[0].split(":")[0], sum(len(u.grounds) for _, its in waiting for u in its))

        def one(candidate: Candidate, its: list[Unit], crowded: bool) -> None:
            session = Session()
            job = Job(
                self._loaded.experiment, candidate, self._loaded.sources[candidate.id], self._allowance(names)
            )
            put_off = []
            for unit, outcomes in run(job, session, its):
                if crowded and pool.crowded_out(outcomes):
                    put_off.append(unit)
                else:
                    self._cells.put(candidate, unit.case, outcomes)
                    self._step(progress, len(outcomes))
                if self._stop.is_set():
                    return
            self._keep(names, candidate, session)
            if put_off:
                again.append((candidate, put_off))

        def kill() -> None:
            for zygote in zygotes:
                zygote.close()
            self._stop_harness()

        crowded = jobs > 1 and names == [Ground.DEVICE.value]
        for group, at_a_time, beside in ((sources, 1, False), (others, jobs, crowded), (again, 1, False)):
            tasks = [partial(one, candidate, its, beside) for candidate, its in group]
            pool.run_all(tasks, at_a_time, self._stop, kill)

    def _step(self, progress: _Progress, cells: int) -> None:
        with self._lock:
            progress.done += cells
            self._watch.step(Step(progress.ground, progress.done, progress.total))
            self._maybe_checkpoint()

    def _allowance(self, names: Sequence[str]) -> Allowance:
        memory = int(self._loaded.experiment.limits.host_memory_gib * _GIB)
        # Stand-ins of huge inputs are address space that is never touched, on top of the memory.
        data = None if Ground.DEVICE in names else memory + 32 * _GIB
        on_device = Ground.DEVICE in names
        return Allowance(memory_bytes=memory, data_bytes=data, anonymous_files=on_device)

    def _keep(self, names: Sequence[str], candidate: Candidate, session: Session) -> None:
        with self._lock:
            for name in names:
                ground = self._grounds[name]
                ground.isolation = ground.isolation or session.isolation
                if session.tuned:
                    ground.tuned[candidate.id] = session.tuned
                if session.printed.strip():
                    ground.printed[candidate.id] = session.printed.decode(errors="replace")

    def _not_available(self, name: str, why: Why, reason: str) -> None:
        for candidate in self._candidates:
            for case in self._cases:
                self._cells.put(candidate, case, {name: NotRun(why=why, detail=reason)})
        self._grounds[name].unavailable = reason

    @contextlib.contextmanager
    def _timed(self, names: Sequence[str]) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            for name in names:
                self._grounds[name].seconds = round(time.monotonic() - started, 2)

    # --- the record --------------------------------------------------------------------------------

    def _maybe_checkpoint(self) -> None:
        if time.monotonic() >= self._checkpoint_at:
            self._watch.checkpoint(self._evidence(complete=False))
            self._checkpoint_at = time.monotonic() + _CHECKPOINT_S

    def _evidence(self, *, complete: bool) -> Evidence:
        cells, kernels = renumber(self._cells.snapshot(), self._kernels.kernels)
        return Evidence(
            schema=SCHEMA,
            subject=self._subject(),
            started=self._started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._clock, 1),
            complete=complete,
            host=self._host,
            not_as_pinned=self._loaded.experiment.runtime.differences(self._host.software),
            settings=Settings(
                seed=self._request.seed,
                grounds=self._request.grounds(),
                candidates=self._request.candidates,
                cases=self._request.cases,
            ),
            judge_isolation=self._judge_isolation,
            grounds={name: self._report(name, grid) for name, grid in cells.items()},
            kernels=kernels,
            cross_check=self._cross_check,
            timings=self._timings,
        )

    def _report(self, name: str, grid: Grid) -> GroundReport:
        ground = self._grounds[name]
        reason = ground.unavailable
        status = "not-available" if reason else "judged"
        if not reason:
            reason = misbehaviour(self._loaded.experiment, Ground(name.split(":", maxsplit=1)[0]), grid)
            status = "invalid" if reason else "judged"
            if reason and self._request.cases is not None:
                reason += f"; only {len(self._cases)} cases were selected, and it may be right on those"
        return GroundReport(
            status=status,
            reason=reason,
            cells=grid,
            tuned=ground.tuned,
            printed=ground.printed,
            seconds=ground.seconds,
            isolation=ground.isolation,
        )

    def _subject(self) -> Subject:
        return Subject(
            experiment=self._loaded.experiment.id,
            harness=Digest.of(self._loaded.harness),
            cases=self._loaded.cases_digest_for(c.id for c in self._candidates),
            candidates={c.id: Digest.of(self._loaded.sources[c.id]) for c in self._candidates},
            bundle=self._request.bundle,
            replayer=bundler.__version__,
        )


@dataclass
class _Progress:
    """How many cells of a ground are judged."""

    ground: str
    total: int
    done: int = 0


@dataclass
class _Ground:
    """What is known of a ground beside its cells."""

    unavailable: str = ""
    seconds: float = 0
    isolation: dict[str, str] = field(default_factory=dict)
    tuned: dict[str, dict[str, str]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)


def _selected(experiment: Experiment, wanted: tuple[str, ...] | None) -> tuple[Candidate, ...]:
    return tuple(
        candidate
        for candidate in experiment.candidates()
        if wanted is None or candidate.id in wanted or candidate.arm.is_control
    )


def _not_on(case: Case, ground: Ground) -> Outcome | None:
    """The reason why a case has no cell on a ground; None when it has one."""
    if ground in case.grounds:
        return None
    return NotRun(why=Why.NOT_ON_THIS_GROUND, detail=f"the case is for {', '.join(case.grounds)}")


def _zygote(flavour: str, environment: dict[str, str] | None = None) -> Zygote:
    try:
        return Zygote(flavour, environment=environment)
    except ZygoteFailed as error:
        raise UnavailableError(
            f"the {flavour} ground could not be started: {_last_line(error)}",
            hint="torch and triton have to be installed in this Python, as they are in a bundle's runtime",
        ) from None


def _last_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no reason given"])[-1][:300]


def _summary(isolation: dict[str, str]) -> str:
    """``held``, or the steps that did not."""
    missing = [f"{step}: {state}" for step, state in isolation.items() if state != "held"]
    return "; ".join(missing) or "held"
