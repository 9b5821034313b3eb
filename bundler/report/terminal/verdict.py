"""How a replay compares with the recorded evidence, what was not judged, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment
from bundler.model.outcome import Passed, ran
from bundler.model.verdict import GroundVerdict, Judgement, Verdict
from bundler.report import summary
from bundler.report.terminal import BAD, DIM, GOOD, WARN
from bundler.report.terminal.lines import say
from bundler.report.text import count, each, few, plain


def judgements(console: Console, verdict: Verdict) -> None:
    """Cells by judgement and ground, and where the replay differs from what was recorded."""
    if not _held(verdict):
        return
    table = Table(title="\nHeld against the recorded evidence", title_justify="left", title_style="bold")
    for heading in ("ground", "reproduced", "differ", "not judged", "PTX"):
        table.add_column(heading, justify="left" if heading in ("ground", "PTX") else "right")
    for names, ground in _alike(verdict.grounds):
        of = each(names)
        differ = ground.count(Judgement.DIFFERS)
        table.add_row(
            Text(summary.title(names)),
            f"{ground.count(Judgement.REPRODUCED)}{of}" if ground.source else "none recorded",
            Text(f"{differ}{of}" if ground.source else "", BAD if differ else ""),
            f"{ground.count(Judgement.NOT_JUDGED)}{of}",
            _ptx(ground, of),
        )
    console.print(table)
    for name, candidate, recorded, replayed, cases, why in summary.differences(verdict):
        say(
            console,
            Text.assemble(
                "  ",
                (candidate, "bold"),
                f" on {name}: recorded {recorded}, ",
                (f"here {replayed}", BAD),
                f" in {count(len(cases), 'cell')}: {few(cases)}",
            ),
        )
        if why:
            say(console, Text(f"      {plain(why, 240)}", DIM))


def _alike(grounds: Sequence[GroundVerdict]) -> list[tuple[tuple[str, ...], GroundVerdict]]:
    """Architectures with equal numbers share a row; the numbers are each one's."""
    found: dict[object, list[GroundVerdict]] = {}
    for ground in grounds:
        numbers = (*(ground.count(one) for one in Judgement), ground.ptx_same, ground.ptx_other)
        found.setdefault((ground.ground.split(":")[0], numbers), []).append(ground)
    return [(tuple(ground.ground for ground in alike), alike[0]) for alike in found.values()]


def _held(verdict: Verdict) -> bool:
    return any(ground.source for ground in verdict.grounds)


def _ptx(ground: GroundVerdict, of: str) -> Text:
    total = ground.ptx_same + ground.ptx_other
    if not total:
        return Text("")
    if not ground.ptx_other:
        return Text(f"identical in all {total} cells{of}", GOOD)
    return Text(f"differs in {ground.ptx_other} of {total} cells{of}", WARN)


def not_judged(console: Console, evidence: Evidence, verdict: Verdict) -> None:
    """What says nothing of the recorded evidence, a line a reason."""
    lines = []
    for left in summary.unjudged(verdict):
        status = evidence.grounds[left.grounds[0]].status
        what = count(left.cells, "cell")
        if left.whole:
            what = "the whole ground" + ("" if status == "judged" else f", {status.replace('-', ' ')}")
        lines.append(f"  {summary.title(left.grounds)}, {what}: {summary.why_not_run(evidence, left.why)}")
    if not evidence.complete:
        lines.append("  the replay was cut short; cells that it did not reach are not judged")
    if lines:
        say(console, Text("\nNot judged here, and why", "bold"))
        for line in lines:
            say(console, Text(plain(line)))


class Unheld(NamedTuple):
    """What the last line says where nothing recorded can be held against a replay."""

    head: str
    then: str
    """The next step."""

    def text(self, experiment: Experiment, evidence: Evidence) -> Text:
        """How the candidates' cells ran on each ground."""
        controls = {candidate.id for candidate in experiment.candidates() if candidate.arm.is_control}
        told = []
        for group in summary.groups(evidence):
            rows = (row.values() for name, row in group.report.cells.items() if name not in controls)
            if cells := [isinstance(outcome, Passed) for row in rows for outcome in row if ran(outcome)]:
                told.append(f"{sum(cells):,} of {len(cells):,}{each(group.names)} passed on {group.title}")
        did = f"of the candidates' cells, {', '.join(told)}, and each control did as it must"
        said = f"{self.head}: {did if told else _NONE}{_left_out(evidence)}"
        return Text(plain("; ".join(filter(None, (said, self.then))), 2000), "bold" if told else WARN)


_NONE = "no candidate's cell ran here"


def result(evidence: Evidence, verdict: Verdict) -> Text:
    """The last line: what the replay says as a whole."""
    same, differ = verdict.count(Judgement.REPRODUCED), verdict.count(Judgement.DIFFERS)
    unjudged = verdict.count(Judgement.NOT_JUDGED)
    tail = f"{count(same, 'cell')} reproduced, {differ:,} differ, {unjudged:,} not judged"
    if not _held(verdict):
        tail = "nothing is recorded to hold it against"
    tail += _left_out(evidence)
    invalid = [name for name, report in evidence.grounds.items() if report.status == "invalid"]
    if not verdict.complete:
        return Text(f"INCOMPLETE: {tail}", BAD)
    if differ:
        return Text(f"DIFFERS: {tail}", BAD)
    if invalid:
        if evidence.settings.cases is not None:
            tail += "; a control need not show on every case: replay without --case, or with more cases"
        return Text(f"INVALID: a control misbehaved or was not run on {few(invalid)}; {tail}", BAD)
    if not same:
        return Text(f"NOTHING JUDGED: {tail}", WARN)
    return Text(f"REPRODUCED: {tail}", f"bold {GOOD}")


def _left_out(evidence: Evidence) -> str:
    slow = summary.slow(evidence)
    runs = f"--slow runs {'it' if slow == 1 else 'them'}"
    return f"; {count(slow, 'cell')} left out as slow: {runs}" if slow else ""
