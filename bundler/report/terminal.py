"""The report of a replay for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bundler.model.evidence import Evidence, GroundReport
from bundler.model.experiment import Arm, Candidate, Experiment, Origin, by_arm
from bundler.model.host import Gpu, Host, Read, Value
from bundler.model.outcome import Passed, kind, ran
from bundler.model.verdict import GroundVerdict, Judgement, Verdict
from bundler.report import signs, source_kernel, summary
from bundler.report import timings as timing_rows
from bundler.report.summary import Named
from bundler.report.text import count, few, plain

GOOD, BAD, DIM, WARN = "green", "bold red", "dim", "yellow"


def show(
    console: Console,
    experiment: Experiment,
    evidence: Evidence,
    verdict: Verdict,
    *,
    matrix: bool,
    recorded: Sequence[Named] = (),
) -> None:
    """Host, matrix, what did not pass, timings, verdict, what was not judged, result; in this order.

    ``recorded``: evidence whose ratios of two arms the replay's are held against.
    """
    console.print(Text.assemble((experiment.id, "bold"), "  ", plain(experiment.title)))
    _host(console, evidence)
    groups = summary.groups(evidence)
    console.print()
    console.print(_counts(experiment, groups))
    if matrix:
        for group in groups:
            if group.report.status != "not-available":
                for part in _matrix(experiment, group, console.width):
                    console.print(part)
    _troubles(console, experiment, groups)
    _disagreements(console, experiment, groups)
    _marks(console, groups)
    _cross_check(console, experiment, evidence)
    if ports := source_kernel.on_device(experiment, evidence):
        console.print(Text(f"\n{plain(ports)}"))
    timings(console, experiment, evidence)
    for line in timing_rows.agreements(experiment, (*recorded, ("this replay", evidence))):
        console.print(Text(f"  {plain(line)}"))
    _verdict(console, verdict)
    _not_judged(console, evidence, verdict)
    console.print()
    console.print(result(evidence, verdict))


# --- host ------------------------------------------------------------------------------------------


def _host(console: Console, evidence: Evidence) -> None:
    rows = Table.grid(padding=(0, 2))
    rows.add_row(Text("host", DIM), Text(machine(evidence.host)))
    for gpu in evidence.host.gpus:
        rows.add_row(Text("gpu", DIM), Text(_gpu(gpu)))
    if evidence.host.no_gpu:
        rows.add_row(Text("gpu", DIM), Text(f"none: {plain(evidence.host.no_gpu)}", WARN))
    software = ", ".join(f"{name} {version}" for name, version in evidence.host.software.items())
    rows.add_row(Text("software", DIM), Text(plain(software)))
    if evidence.not_as_pinned:
        other = ", ".join(f"{name} {difference}" for name, difference in evidence.not_as_pinned.items())
        rows.add_row(Text("", DIM), Text(plain(f"not the pinned runtime: {other}"), WARN))
    rows.add_row(Text("isolation", DIM), isolation(evidence))
    rows.add_row(Text("seed", DIM), Text(str(evidence.settings.seed)))
    console.print(rows)


def machine(host: Host) -> str:
    """Operating system and processor in one line."""
    parts = [value(host, name) for name in ("os", "kernel", "cpu_model")]
    return plain(", ".join(part for part in parts if part) or "unknown")


def value(host: Host, name: str) -> str:
    """A system field's value; empty where it was not read."""
    reading = host.system.get(name)
    return _said(reading.value) if isinstance(reading, Read) else ""


def _said(value: Value) -> str:
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)


def _gpu(gpu: Gpu) -> str:
    def field(name: str) -> str:
        reading = gpu.fields.get(name)
        if reading is None:
            return "not asked"
        return _said(reading.value) if isinstance(reading, Read) else reading.status

    memory = field("memory_total_bytes")
    gib = f"{int(memory) / 2**30:.1f} GiB" if memory.isdigit() else memory
    l2 = field("l2_bytes")
    mib = f"{int(l2) / 2**20:.1f} MiB" if l2.isdigit() else l2
    return plain(
        f"{field('name')}, compute capability {field('compute_capability')}, {gib}, L2 {mib}, "
        f"SM clock {field('sm_clock_mhz')} of {field('sm_clock_max_mhz')} MHz, "
        f"limiting now: {field('event_reasons')}"
    )


def isolation(evidence: Evidence) -> Text:
    """What confined the workers: all of it, or what did not hold."""
    missing: dict[str, None] = {}
    reports = [report.isolation for report in evidence.grounds.values() if report.isolation]
    for report in (evidence.judge_isolation, *reports):
        missing.update({f"{step}: {state}": None for step, state in report.items() if state != "held"})
    if not reports:
        return Text("no worker was started", WARN)
    if missing:
        return Text(plain("; ".join(missing)), WARN)
    held = ", ".join(reports[0])
    return Text(f"all held: {plain(held)}")


# --- outcomes --------------------------------------------------------------------------------------


def _arm(arm: Arm) -> Text:
    note = {
        Origin.RECONSTRUCTED: " (no model's output)",
        Origin.CONTROL: f" (must {arm.expect})",
        Origin.SOURCE: f" (the source kernel, must {arm.expect})",
    }
    return Text.assemble(arm.name, (note.get(arm.origin, ""), DIM))


def _counts(experiment: Experiment, groups: list[summary.GroundGroup]) -> Table:
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


def _count(found: summary.Count, report: GroundReport) -> Text:
    if not found.judged:
        return Text("not run", DIM)
    text = f"{found.passed}/{found.judged}"
    if report.status == "invalid":
        return Text(f"{text} invalid", WARN)
    return Text(text, GOOD if found.passed == found.judged else BAD)


def _matrix(experiment: Experiment, group: summary.GroundGroup, width: int) -> list[Table | Text]:
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


def _troubles(console: Console, experiment: Experiment, groups: list[summary.GroundGroup]) -> None:
    origins = {c.id: c.arm for c in experiment.candidates()}
    found = [trouble for group in groups for trouble in summary.troubles(group)]
    if not found:
        return
    console.print(Text("\nWhat ran and did not pass", "bold"))
    for trouble in found:
        arm = origins[trouble.candidate]
        console.print(
            Text.assemble(
                "  ",
                (trouble.who, "bold"),
                (f" ({arm.origin}) " if arm.origin is not Origin.GENERATED else " ", DIM),
                f"on {trouble.ground}: ",
                (f"{len(trouble.cases)}{_each(trouble.candidates)} {trouble.kind}", BAD),
                f": {few(trouble.cases)}",
            )
        )
        if trouble.detail:
            console.print(Text(f"      {plain(trouble.detail, 240)}", DIM))


def _each(candidates: Sequence[str]) -> str:
    return " each" if len(candidates) > 1 else ""


def _disagreements(console: Console, experiment: Experiment, groups: list[summary.GroundGroup]) -> None:
    controls = {c.id for c in experiment.candidates() if c.arm.is_control}
    found = [one for one in summary.disagreements(groups) if one.candidate not in controls]
    if not found:
        return
    console.print(Text("\nWhere the grounds disagree", "bold"))
    for one in found:
        console.print(
            Text.assemble(
                "  ",
                (one.who, "bold"),
                f": {count(len(one.cases), 'case')}{_each(one.candidates)} {one.kind} "
                f"on {one.ground}, {one.other_kind} on {one.other_ground}: {few(one.cases, 3)}",
            )
        )
    note = "What the interpreter passes need not compile, and what it fails may be its own limit."
    console.print(Text(f"      {note}", DIM))


def _marks(console: Console, groups: list[summary.GroundGroup]) -> None:
    lines = [
        f"  {candidate} on {group.title}: {', '.join(marks)}"
        for group in groups
        for candidate, marks in summary.marks(group.report).items()
    ]
    if lines:
        console.print(Text("\nMarked", "bold"))
        for line in lines:
            console.print(Text(plain(line)))


def _cross_check(console: Console, experiment: Experiment, evidence: Evidence) -> None:
    check, cells = experiment.cross_check, evidence.cross_check
    if check is None or not cells:
        return
    passed = sum(isinstance(outcome, Passed) for outcome in cells.values())
    text = f"\nCross-check of {check.of} in NumPy: {passed} of {count(len(cells), 'case')} passed"
    console.print(Text(plain(text), "bold"))
    console.print(Text(f"      {plain(check.says, 240)}", DIM))


def timings(console: Console, experiment: Experiment | None, evidence: Evidence) -> None:
    """What was timed, or why it may not be claimed; ``experiment`` is needed for the ratios."""
    found = timing_rows.rows(evidence)
    if not found:
        return
    console.print(Text("\nTimings", "bold"))
    for row in found:
        style = GOOD if row.state == "admissible" else WARN
        line = Text.assemble("  ", (row.candidate, "bold"), f" on {plain(row.case)}: ", (row.state, style))
        console.print(line.append(f": {plain(row.value)}" if row.value else ""))
        for note in row.notes:
            console.print(Text(f"      {plain(note)}", DIM))
    for pair in timing_rows.pairs(experiment, evidence) if experiment else ():
        console.print(Text(f"  {plain(timing_rows.said(pair))}"))


# --- verdict ---------------------------------------------------------------------------------------


def _verdict(console: Console, verdict: Verdict) -> None:
    table = Table(title="\nHeld against the recorded evidence", title_justify="left", title_style="bold")
    for heading in ("ground", "reproduced", "differ", "not judged", "PTX"):
        table.add_column(heading, justify="left" if heading in ("ground", "PTX") else "right")
    for ground in verdict.grounds:
        differ = ground.count(Judgement.DIFFERS)
        table.add_row(
            Text(ground.ground),
            str(ground.count(Judgement.REPRODUCED)),
            Text(str(differ), BAD if differ else ""),
            str(ground.count(Judgement.NOT_JUDGED)),
            _ptx(ground),
        )
    console.print(table)
    for name, candidate, recorded, replayed, cases, why in summary.differences(verdict):
        console.print(
            Text.assemble(
                "  ",
                (candidate, "bold"),
                f" on {name}: recorded {recorded}, ",
                (f"here {replayed}", BAD),
                f" in {count(len(cases), 'cell')}: {few(cases)}",
            )
        )
        if why:
            console.print(Text(f"      {plain(why, 240)}", DIM))


def _ptx(ground: GroundVerdict) -> Text:
    total = ground.ptx_same + ground.ptx_other
    if not total:
        return Text("")
    if not ground.ptx_other:
        return Text(f"identical in all {total} cells", GOOD)
    return Text(f"differs in {ground.ptx_other} of {total} cells", WARN)


def _not_judged(console: Console, evidence: Evidence, verdict: Verdict) -> None:
    lines = []
    for left in summary.unjudged(verdict):
        status = evidence.grounds[left.grounds[0]].status
        what = count(left.cells, "cell")
        if left.whole:
            what = "the whole ground" if status == "judged" else f"the whole ground, {status}"
        lines.append(f"  {summary.title(left.grounds)}: {what}: {left.why}")
    if not evidence.complete:
        lines.append("  the replay was cut short; cells that it did not reach are not judged")
    if lines:
        console.print(Text("\nNot judged here, and why", "bold"))
        for line in lines:
            console.print(Text(plain(line)))


def result(evidence: Evidence, verdict: Verdict) -> Text:
    """The last line: what the replay says as a whole."""
    same, differ = verdict.count(Judgement.REPRODUCED), verdict.count(Judgement.DIFFERS)
    unjudged = verdict.count(Judgement.NOT_JUDGED)
    tail = f"{count(same, 'cell')} reproduced, {differ:,} differ, {unjudged:,} not judged"
    invalid = [name for name, report in evidence.grounds.items() if report.status == "invalid"]
    if not verdict.complete:
        return Text(f"INCOMPLETE: {tail}", BAD)
    if differ:
        return Text(f"DIFFERS: {tail}", BAD)
    if invalid:
        return Text(f"INVALID: a control misbehaved on {few(invalid)}; {tail}", BAD)
    if not same:
        return Text(f"NOTHING JUDGED: {tail}", WARN)
    return Text(f"REPRODUCED: {tail}", f"bold {GOOD}")
