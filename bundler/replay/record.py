"""What a replay has found so far, and the evidence that is made of it: at checkpoints, and at the end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import bundler
from bundler.digest import Digest
from bundler.experiment.controls import misbehaviour
from bundler.experiment.load import Loaded
from bundler.host import probe_host
from bundler.model.evidence import SCHEMA, Evidence, GroundReport, Settings, Subject
from bundler.model.experiment import Candidate, Experiment, Ground, Language
from bundler.model.host import Host
from bundler.model.outcome import NotRun, Outcome, Why
from bundler.model.timing import Timings
from bundler.replay.cells import Cells, Grid, renumber
from bundler.replay.compile import KernelTable
from bundler.replay.guard import watch_state
from bundler.replay.request import Request, Step, Watch
from bundler.replay.runner import Session
from bundler.worker.sandbox import make_undumpable

_CHECKPOINT_S = 5.0
_Told = TypeVar("_Told")


@dataclass
class Progress:
    """How many cells of a ground are judged."""

    ground: str
    total: int
    done: int = 0


@dataclass
class _GroundFacts:
    """What is known of a ground beside its cells."""

    unavailable: str = ""
    seconds: float = 0
    isolation: dict[str, str] = field(default_factory=dict)
    tuned: dict[str, dict[str, str]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)


class Record:
    """What is known of a replay. ``cells``, ``step`` and ``keep`` are for any thread."""

    def __init__(self, loaded: Loaded, request: Request, watch: Watch) -> None:
        self.loaded = loaded
        self.request = request
        self.watch = watch
        self.candidates = _selected(loaded.experiment, request.candidates)
        self.cases = tuple(
            case for case in loaded.experiment.expand() if request.cases is None or case.id in request.cases
        )
        self.cells = Cells(request.grounds(), self.candidates, self.cases)
        self.kernels = KernelTable()
        self.judge_isolation = {"undumpable": make_undumpable(), "usage-watch": watch_state()}
        self.cross_check: dict[str, Outcome] = {}
        self.timings: Timings | None = None
        self.stop = threading.Event()
        """Set when the replay is to end before all is judged."""
        self._grounds = {name: _GroundFacts() for name in request.grounds()}
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._checkpoint_at = self._clock + _CHECKPOINT_S
        self._lock = threading.Lock()
        self.host: Host = probe_host()

    @property
    def experiment(self) -> Experiment:
        """What is replayed."""
        return self.loaded.experiment

    @property
    def languages(self) -> set[Language]:
        """What the selected candidates are written in."""
        return {self.language(candidate) for candidate in self.candidates}

    def language(self, candidate: Candidate) -> Language:
        """What a candidate is written in."""
        return self.experiment.language_of(candidate.arm)

    # --- what is found -----------------------------------------------------------------------------

    def step(self, progress: Progress, cells: int) -> None:
        """Some more cells are judged: tell who looks on, with a checkpoint where one is due."""
        with self._lock:
            progress.done += cells
            self.watch.step(Step(progress.ground, progress.done, progress.total))
            self._maybe_checkpoint()

    def keep(self, names: Sequence[str], candidate: Candidate, session: Session) -> None:
        """What running a candidate left behind, for each of the grounds."""
        with self._lock:
            for name in names:
                ground = self._grounds[name]
                ground.isolation = ground.isolation or session.isolation
                if session.tuned:
                    ground.tuned[candidate.id] = session.tuned
                if session.printed.strip():
                    ground.printed[candidate.id] = session.printed.decode(errors="replace")

    def not_available(self, name: str, why: Why, reason: str) -> None:
        """None of a ground's cells can be judged."""
        for candidate in self.candidates:
            for case in self.cases:
                self.cells.put(candidate, case, {name: NotRun(why=why, detail=reason)})
        self._grounds[name].unavailable = reason

    @contextlib.contextmanager
    def timed(self, names: Sequence[str]) -> Iterator[None]:
        """Measure how long some grounds take together."""
        started = time.monotonic()
        try:
            yield
        finally:
            for name in names:
                self._grounds[name].seconds = round(time.monotonic() - started, 2)

    # --- the evidence ------------------------------------------------------------------------------

    def _maybe_checkpoint(self) -> None:
        if time.monotonic() >= self._checkpoint_at:
            self.watch.checkpoint(self.evidence(complete=False))
            self._checkpoint_at = time.monotonic() + _CHECKPOINT_S

    def evidence(self, *, complete: bool) -> Evidence:
        """All that is known now."""
        cells, kernels = renumber(self.cells.snapshot(), self.kernels.kernels)
        return Evidence(
            schema=SCHEMA,
            subject=self._subject(),
            started=self._started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._clock, 1),
            complete=complete,
            host=self.host,
            not_as_pinned=self.experiment.runtime.differences(self.host.software),
            settings=self._settings(),
            judge_isolation=self.judge_isolation,
            grounds={name: self._report(name, grid) for name, grid in cells.items()},
            kernels=kernels,
            cross_check=self.cross_check,
            timings=self.timings,
        )

    def _settings(self) -> Settings:
        return Settings(
            seed=self.request.seed,
            grounds=self.request.grounds(),
            candidates=self.request.candidates,
            cases=self.request.cases,
            slow=self.request.slow if self.experiment.slow_cases(*Ground) else None,
        )

    def _report(self, name: str, grid: Grid) -> GroundReport:
        ground = self._grounds[name]
        reason = ground.unavailable or _nothing_ran(grid)
        status = "not-available" if reason else "judged"
        if not reason:
            reason = misbehaviour(self.experiment, Ground(name.split(":", maxsplit=1)[0]), grid)
            status = "invalid" if reason else "judged"
            if reason and self.request.cases is not None:
                reason += f"; not all cases were selected ({len(self.cases)}), and it may be right on those"
        return GroundReport(
            status=status,
            reason=reason,
            cells=grid,
            tuned=self._in_order(ground.tuned),
            printed=self._in_order(ground.printed),
            seconds=ground.seconds,
            isolation=ground.isolation,
        )

    def _in_order(self, told: Mapping[str, _Told]) -> dict[str, _Told]:
        """In the experiment's order, whichever ran first."""
        return {c.id: told[c.id] for c in self.candidates if c.id in told}

    def _subject(self) -> Subject:
        return Subject(
            experiment=self.experiment.id,
            harness=Digest.of(self.loaded.harness),
            cases=self.loaded.cases_digest_for(c.id for c in self.candidates),
            candidates={c.id: Digest.of(self.loaded.sources[c.id]) for c in self.candidates},
            bundle=self.request.bundle,
            replayer=bundler.__version__,
        )


def _selected(experiment: Experiment, wanted: tuple[str, ...] | None) -> tuple[Candidate, ...]:
    return tuple(
        candidate
        for candidate in experiment.candidates()
        if wanted is None or candidate.id in wanted or candidate.arm.is_control
    )


def _nothing_ran(grid: Grid) -> str:
    """Why no cell of a ground ran: what most of them say; empty where one ran, or there is none."""
    outcomes = [outcome for row in grid.values() for outcome in row.values()]
    reasons = Counter(o.detail or str(o.why) for o in outcomes if isinstance(o, NotRun))
    if not outcomes or reasons.total() < len(outcomes):
        return ""
    return f"no cell was run: {reasons.most_common(1)[0][0]}"
