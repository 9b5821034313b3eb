"""The parts of the report in their order, and the timings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bundler.judge.verdict import hold
from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment
from bundler.model.verdict import Verdict
from bundler.report import source_kernel, summary
from bundler.report import timings as timing_rows
from bundler.report.summary import Named
from bundler.report.terminal import DIM, GOOD, WARN
from bundler.report.terminal.cells import by_case, counts
from bundler.report.terminal.host import setup
from bundler.report.terminal.lines import say
from bundler.report.terminal.troubles import cross_check, disagreements, marked, troubles
from bundler.report.terminal.verdict import Unheld, judgements, not_judged, result
from bundler.report.text import plain


def show(
    console: Console,
    experiment: Experiment,
    evidence: Evidence,
    verdict: Verdict,
    *,
    matrix: bool,
    recorded: Sequence[Named] = (),
    unheld: Unheld | None = None,
) -> None:
    """Host, matrix, what did not pass, timings, verdict, what was not judged, result, in order.

    ``recorded``: evidence whose ratios of two arms its own are held against; ``unheld``: what the last
    line says where nothing is recorded, unless the replay was cut short or a control misbehaved.
    """
    say(console, Text.assemble((experiment.id, "bold"), "  ", plain(experiment.title)))
    setup(console, evidence)
    groups = summary.groups(evidence)
    console.print()
    console.print(counts(experiment, groups))
    if matrix:
        for group in groups:
            if group.report.status != "not-available":
                for part in by_case(experiment, group, console.width):
                    say(console, part)
    troubles(console, experiment, groups)
    disagreements(console, experiment, groups)
    marked(console, groups)
    cross_check(console, experiment, evidence)
    if ports := source_kernel.on_device(experiment, evidence):
        say(console, Text(f"\n{plain(ports)}"))
    timings(console, experiment, evidence)
    for line in timing_rows.agreements(experiment, (*recorded, ("this replay", evidence))):
        say(console, Text(f"  {plain(line)}"))
    judgements(console, verdict)
    # Held against itself, only what did not run is left.
    not_judged(console, evidence, hold(experiment, evidence, (("", evidence),)) if unheld else verdict)
    console.print()
    sound = verdict.complete and all(report.status != "invalid" for report in evidence.grounds.values())
    say(console, unheld.text(experiment, evidence) if unheld and sound else result(evidence, verdict))


def timings(console: Console, experiment: Experiment | None, evidence: Evidence) -> None:
    """What was timed, or why it may not be claimed; ``experiment`` says what, and gives ratios."""
    found = timing_rows.rows(evidence, experiment)
    if not found:
        return
    say(console, Text("\nTimings", "bold"))
    for row in found:
        style = GOOD if row.state == "admissible" else WARN
        line = Text.assemble("  ", (row.candidate, "bold"), f" on {plain(row.case)}: ", (row.state, style))
        say(console, line.append(f": {plain(row.value)}" if row.value else ""))
        for note in row.notes:
            say(console, Text(f"      {plain(note)}", DIM))
    for pair in timing_rows.pairs(experiment, evidence) if experiment else ():
        say(console, Text(f"  {plain(timing_rows.said(pair))}"))
