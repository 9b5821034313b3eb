"""How many cells passed: arms against grounds, and a ground's arms against its cases."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from rich.table import Table
from rich.text import Text

from bundler.model.evidence import GroundReport
from bundler.model.experiment import Arm, Candidate, Experiment, Origin, by_arm
from bundler.model.outcome import Passed, kind, ran
from bundler.report import signs, summary
from bundler.report.terminal import BAD, DIM, GOOD, WARN


def counts(experiment: Experiment, groups: list[summary.GroundGroup]) -> Table:
    """Arms against grounds: passed of judged cells."""
    table = Table(title="Cells passed of cells that ran", title_justify="left", title_style="bold")
    table.add_column("arm")
    for group in groups:
        table.add_column(group.title, justify="right")
    by_ground = [summary.counts(experiment, group.report) for group in groups]
    for arm, _ in by_arm(experiment):
        row = [_count(found[arm.name], group.report) for found, group in zip(by_ground, groups, strict=True)]
        table.add_row(_arm(arm), *row)
    return table


def _arm(arm: Arm) -> Text:
    note = {
        Origin.RECONSTRUCTED: " (no model's output)",
        Origin.CONTROL: f" (must {arm.expect})",
        Origin.SOURCE: f" (the source kernel, must {arm.expect})",
    }
    return Text.assemble(arm.name, (note.get(arm.origin, ""), DIM))


def _count(found: summary.Count, report: GroundReport) -> Text:
    if not found.judged:
        return Text("not run", DIM)
    text = f"{found.passed}/{found.judged}"
    if report.status == "invalid":
        return Text(f"{text} invalid", WARN)
    return Text(text, GOOD if found.passed == found.judged else BAD)


def by_case(experiment: Experiment, group: summary.GroundGroup, width: int) -> list[Table | Text]:
    """Cases against arms on one group of grounds; where the names do not fit, letters and signs for them."""
    arms = list(by_arm(experiment))
    cases = list({case: None for row in group.report.cells.values() for case in row})
    rows = [[_case_cell(group.report, case, its, short=False) for _, its in arms] for case in cases]
    names = [arm.name for arm, _ in arms]
    if _width(cases, names, rows) <= width:
        return [_table(group, cases, names, rows)]
    rows = [[_case_cell(group.report, case, its, short=True) for _, its in arms] for case in cases]
    letters = [ascii_uppercase[i] if i < len(ascii_uppercase) else str(i) for i in range(len(arms))]
    legend = ", ".join(f"{letter} {name}" for letter, name in zip(letters, names, strict=True))
    used = {mark for row in rows for cell in row for mark in cell.plain}
    said = [f"{sign} {name}" for name, sign in signs.SIGNS.items() if sign in used]
    table = _table(group, cases, letters, rows)
    return [table, Text("; ".join([legend, ", ".join(said)] if said else [legend]), DIM)]


def _width(cases: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[Text]]) -> int:
    """Of the table, nothing wrapped: each column's longest text, a space on either side, and the lines."""
    columns = [[name, *(row[i].plain for row in rows)] for i, name in enumerate(names)]
    return sum(max(map(len, column)) + 3 for column in [["case", *cases], *columns]) + 1


def _table(
    group: summary.GroundGroup, cases: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[Text]]
) -> Table:
    table = Table(title=f"{group.title}: candidates passed", title_justify="left", title_style="bold")
    table.add_column("case", overflow="fold", min_width=min(12, max(map(len, cases), default=0)))
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for case, row in zip(cases, rows, strict=True):
        table.add_row(Text(case), *row)
    return table


def _case_cell(report: GroundReport, case: str, candidates: Sequence[Candidate], *, short: bool) -> Text:
    outcomes = [report.cells[c.id][case] for c in candidates if c.id in report.cells]
    judged = [o for o in outcomes if ran(o)]
    passed = sum(isinstance(o, Passed) for o in judged)
    if not judged:
        return Text("-", DIM)
    share = "" if short and len(candidates) == 1 else f"{passed}/{len(judged)}"
    if passed == len(judged):
        return Text(share or signs.SIGNS["passed"], GOOD)
    kinds = sorted({kind(o) for o in judged if not isinstance(o, Passed)})
    marked = "".join(dict.fromkeys(signs.SIGNS[signs.outcome_of(k)] for k in kinds))
    return Text(f"{share} {marked if short else ', '.join(kinds)}".strip(), BAD)
