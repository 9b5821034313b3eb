"""The page's matrices as rows of cells: real tables, so that a screen reader can walk them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bundler.model.experiment import Arm, Candidate, by_arm
from bundler.model.outcome import NotRun, Outcome, kind
from bundler.report import signs
from bundler.report.across import Column, Facts
from bundler.report.summary import Count, counts, detail


@dataclass(frozen=True)
class Cell:
    """One outcome: a sign, its words, and what is known beside."""

    name: str
    sign: str
    words: str
    more: str = ""


@dataclass(frozen=True)
class HeatMap:
    """One ground: a row for each case, a cell for each candidate."""

    column: Column
    arms: Sequence[tuple[Arm, Sequence[Candidate]]]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    legend: Sequence[Cell]
    left_out: int
    """Cases of which nothing ran here while something did of others."""


def heat_map(facts: Facts, column: Column) -> HeatMap:
    """Every case of the experiment; a cell that the evidence lacks is not run.

    Where all cases look alike, as a compiled kernel's do, they are one row.
    """
    cells = column.group.report.cells
    arms = [(arm, [c for c in cs if c.id in cells]) for arm, cs in by_arm(facts.loaded.experiment)]
    arms = [(arm, cs) for arm, cs in arms if cs]
    rows = [
        (case.id, [_cell(cells[c.id].get(case.id)) for _, cs in arms for c in cs])
        for case in facts.loaded.experiment.expand()
    ]
    ran = [(case, row) for case, row in rows if any(cell.name != "not-run" for cell in row)] or rows
    left_out = len(rows) - len(ran)
    rows = ran
    if len(rows) > _FEW and len({tuple((cell.name, cell.more) for cell in row) for _, row in rows}) == 1:
        rows = [(f"all {len(rows)} cases{' that ran' if left_out else ''}", rows[0][1])]
    seen = {cell.name for _, row in rows for cell in row}
    legend = [Cell(name, sign, name) for name, sign in signs.SIGNS.items() if name in seen]
    return HeatMap(column, arms, rows, legend, left_out)


_FEW = 3
"""So many rows are no trouble to read, alike or not."""


def _cell(outcome: Outcome | None) -> Cell:
    if outcome is None:
        return Cell("not-run", signs.SIGNS["not-run"], "not run", "the evidence has no such cell")
    more = outcome.detail or str(outcome.why) if isinstance(outcome, NotRun) else detail(outcome)
    return Cell(outcome.outcome, signs.SIGNS[outcome.outcome], kind(outcome), more[:200])


@dataclass(frozen=True)
class Tally:
    """Cells of one arm on one ground, and the colour of the worst of them."""

    name: str
    sign: str
    count: Count
    valid: bool


def matrix(facts: Facts) -> list[tuple[Arm, list[Tally]]]:
    """Arms against grounds."""
    experiment = facts.loaded.experiment
    columns = [(column, counts(experiment, column.group.report)) for column in facts.columns]
    return [
        (arm, [_tally(arm, found[arm.name], column.valid) for column, found in columns])
        for arm, _ in by_arm(experiment)
    ]


def _tally(arm: Arm, found: Count, valid: bool) -> Tally:
    """A control that fails as it must is nothing to worry about: it has no colour."""
    if not found.judged or not valid or arm.is_control:
        return Tally("not-run", "", found, valid)
    name = "passed" if found.passed == found.judged else "failed"
    return Tally(name, signs.SIGNS[name], found, valid)
