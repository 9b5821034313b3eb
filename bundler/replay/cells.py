"""The cells of a replay: fixed before anything runs, filled in as outcomes come, never missing."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from bundler.model.evidence import Kernel
from bundler.model.experiment import Candidate, Case
from bundler.model.outcome import NotRun, Outcome, Passed, Why

Grid = dict[str, dict[str, Outcome]]


class Cells:
    """Outcomes by ground, candidate and case. Safe for several threads."""

    def __init__(
        self, grounds: Iterable[str], candidates: Iterable[Candidate], cases: Iterable[Case]
    ) -> None:
        unreached = NotRun(why=Why.INTERRUPTED, detail="the replay ended before this cell")
        ids = [case.id for case in cases]
        names = [candidate.id for candidate in candidates]
        self._lock = threading.Lock()
        self._cells: dict[str, Grid] = {
            ground: {name: dict.fromkeys(ids, unreached) for name in names} for ground in grounds
        }

    def put(self, candidate: Candidate, case: Case, outcomes: Mapping[str, Outcome]) -> None:
        """Fill one case's cells on some grounds; a cell that was not fixed beforehand is a KeyError."""
        with self._lock:
            for ground, outcome in outcomes.items():
                row = self._cells[ground][candidate.id]
                if case.id not in row:
                    raise KeyError(case.id)
                row[case.id] = outcome

    def snapshot(self) -> dict[str, Grid]:
        """A copy of all that is there."""
        with self._lock:
            return {
                ground: {candidate: dict(row) for candidate, row in grid.items()}
                for ground, grid in self._cells.items()
            }


def renumber(
    cells: dict[str, Grid], kernels: tuple[Kernel, ...]
) -> tuple[dict[str, Grid], tuple[Kernel, ...]]:
    """Number kernels by where they first stand, so that threads leave no trace in the evidence."""
    order: dict[int, int] = {}

    def renumbered(outcome: Outcome) -> Outcome:
        if not isinstance(outcome, Passed) or not outcome.kernels:
            return outcome
        numbers = tuple(order.setdefault(index, len(order)) for index in outcome.kernels)
        return outcome.model_copy(update={"kernels": numbers})

    new = {
        ground: {
            candidate: {case: renumbered(outcome) for case, outcome in row.items()}
            for candidate, row in grid.items()
        }
        for ground, grid in cells.items()
    }
    return new, tuple(kernels[index] for index in order)
