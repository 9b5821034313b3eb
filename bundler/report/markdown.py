"""Markdown for a pull request: the headline, the matrix, deviations, what was not judged; the rest folded."""

from __future__ import annotations

from collections.abc import Sequence

from bundler.experiment.deviations import device_names
from bundler.model.experiment import Origin, by_arm
from bundler.report import checked, runs, summary
from bundler.report import timings as timing_rows
from bundler.report.across import Column, Facts, never_judged, not_run
from bundler.report.headline import headline
from bundler.report.hosts import Rows, arm_note, host_rows, provenance
from bundler.report.markup import code, folded, prose, table
from bundler.report.remarks import remarks
from bundler.report.terminal.verdict import result
from bundler.report.text import count, each, few


def pull_request(facts: Facts) -> str:
    """The whole comment."""
    experiment = facts.loaded.experiment
    parts = [
        f"### {prose(experiment.id)}: {prose(experiment.title)}\n",
        f"**{prose(first_line(facts))}**\n",
        bullets([prose(line) for line in beside(facts)]),
        held(facts),
        matrix(facts),
        f"**Deviations from the plan.** {deviations(facts)}",
        f"**Not run.**{not_judged(facts)}",
        f"**Timings.** {timings(facts)}",
        *_folds(facts),
    ]
    return "\n".join(part for part in parts if part)


def _folds(facts: Facts) -> list[str]:
    hosts = "\n".join(f"{prose(name)}\n\n{rows(host)}" for name, host in hosts_of(facts))
    found = {
        "What so many runs can tell": statistics(facts),
        "What ran and did not pass": troubles(facts),
        "Where the grounds disagree": disagreements(facts),
        "What was marked": marks(facts),
        "Cross-check": cross_check(facts),
        "Hosts": hosts,
        "Provenance": rows(provenance(facts)),
    }
    return [folded(name, body) for name, body in found.items() if body]


def first_line(facts: Facts) -> str:
    """The headline, with the GPUs that judged."""
    return headline(facts.loaded.experiment, facts.columns, device_names(facts.evidence))


def beside(facts: Facts) -> list[str]:
    """What has to be known beside the headline."""
    return remarks(facts.loaded.experiment, facts.columns, facts.stale_since, facts.recorded)


# --- blocks, which the entry's pages show too -------------------------------------------------------


def bullets(lines: list[str]) -> str:
    """A list; empty for none."""
    return "".join(f"- {line}\n" for line in lines)


def rows(found: Rows) -> str:
    """A table of names and stranger's texts."""
    return table(("what", "value"), [(prose(name), code(text, 1000)) for name, text in found], right_from=2)


def hosts_of(facts: Facts) -> list[tuple[str, Rows]]:
    """Each host's name and rows."""
    return [(name, host_rows(facts.loaded.experiment, evidence)) for name, evidence in facts.evidence]


def matrix(facts: Facts) -> str:
    """Arms against grounds: cells passed of cells that ran."""
    columns = facts.columns
    if not columns:
        return ""
    counted = [(column, summary.counts(facts.loaded.experiment, column.group.report)) for column in columns]
    lines = [
        (
            f"{prose(arm.name)} ({arm_note(arm)})",
            *(_count(column, found[arm.name]) for column, found in counted),
        )
        for arm, _ in by_arm(facts.loaded.experiment)
    ]
    return table(("cells passed of cells that ran", *(prose(c.title) for c in columns)), lines)


def _count(column: Column, found: summary.Count) -> str:
    if not found.judged:
        return "not run"
    return f"{found.passed}/{found.judged}" + ("" if column.valid else " invalid")


def statistics(facts: Facts) -> str:
    """Runs passed an arm, with Wilson's interval, and Fisher's exact test between the arms."""
    return bullets([prose(line) for line in runs.lines(facts)]) or "No cell of any arm ran.\n"


def cross_check(facts: Facts) -> str:
    """Empty where the experiment declares none."""
    return bullets([prose(line) for line in checked.lines(facts)])


def deviations(facts: Facts) -> str:
    """Each with its author's note; or why there are none."""
    if facts.loaded.experiment.plan is None:
        return "The experiment states no plan, so nothing can deviate from it.\n"
    if not facts.deviations:
        return "None: all is as the plan says.\n"
    lines = [
        (
            prose(d.field),
            code(d.planned),
            code(d.found),
            prose(", ".join(d.bears_on)) if d.noted else "not said",
            prose(d.note) or "**no note**",
        )
        for d in facts.deviations
    ]
    heads = ("what", "planned", "found", "bears on", "the author's note")
    return f"{count(len(lines), 'deviation')}.\n\n" + table(heads, lines, right_from=5)


def not_judged(facts: Facts) -> str:
    """Every reason; nothing is left out."""
    lines = never_judged(facts.loaded.experiment, facts.evidence)
    for left in not_run(facts.evidence):
        lines.append(f"{prose(f'{left.grounds} ({left.host})')}: {left.how_many}: {code(left.why)}")
    return "\n\n" + bullets(lines) if lines else " Nothing: every cell of every ground was run.\n"


def timings(facts: Facts) -> str:
    """Each host's timings, or all reasons for which they may not be claimed; then the arms' ratios."""
    experiment = facts.loaded.experiment
    found = [(name, evidence, timing_rows.rows(evidence, experiment)) for name, evidence in facts.evidence]
    blocks = [_timings(name, its) for name, _, its in found if its]
    if not blocks:
        return f"{timing_rows.NONE}\n"
    said = [
        prose(f"{name}: {timing_rows.said(pair)}")
        for name, evidence, _ in found
        for pair in timing_rows.pairs(experiment, evidence)
    ]
    said += [prose(line) for line in timing_rows.agreements(experiment, facts.evidence)]
    return "\n\n" + "\n".join([*blocks, bullets(said)] if said else blocks)


def _timings(host: str, found: Sequence[timing_rows.Row]) -> str:
    lines = [
        (prose(row.candidate), prose(row.case), row.state, prose(row.value) or "none",
         "<br>".join(code(note, 1000) for note in row.notes))
        for row in found
    ]  # fmt: skip
    heads = (f"timing ({prose(host)})", "case", "state", "median and spread", "reasons, or what to know")
    return table(heads, lines, right_from=5)


def held(facts: Facts) -> str:
    """One line for each evidence that was held against the recorded."""
    evidence = dict(facts.evidence)
    lines = [
        f"{prose(name)}, held against the recorded: {prose(result(evidence[name], verdict).plain)}"
        for name, verdict in facts.verdicts
    ]
    return bullets(lines)


def troubles(facts: Facts) -> str:
    """What did not pass, by candidate, ground and kind, with the first detail of each."""
    arms = {c.id: c.arm for c in facts.loaded.experiment.candidates()}
    lines = []
    for column in facts.columns:
        for found in summary.troubles(column.group):
            arm = arms[found.candidate]
            origin = "" if arm.origin is Origin.GENERATED else f" ({arm_note(arm)})"
            what = f"{prose(found.who)}{origin} on {prose(column.title)}"
            cases = f"{count(len(found.cases), 'case')}{each(found.candidates)}"
            how = f"{cases} {prose(found.kind)}: {prose(few(found.cases))}"
            lines.append(f"{what}: {how}" + (f"<br>{code(found.detail, 240)}" if found.detail else ""))
    return bullets(lines)


def disagreeing(facts: Facts) -> list[summary.Disagreement]:
    """Without the controls, which fail on some grounds on purpose."""
    controls = {c.id for c in facts.loaded.experiment.candidates() if c.arm.is_control}
    found = summary.disagreements([column.labelled for column in facts.columns if column.valid])
    return [one for one in found if one.candidate not in controls]


def disagreements(facts: Facts) -> str:
    """Where a kernel passes on one ground and not on another."""
    found = disagreeing(facts)
    lines = [
        f"{prose(d.who)}: {count(len(d.cases), 'case')}{each(d.candidates)} {prose(d.kind)} "
        f"on {prose(d.ground)}, {prose(d.other_kind)} on {prose(d.other_ground)}: {prose(few(d.cases, 3))}"
        for d in found
    ]
    return bullets(lines) + f"\n{summary.LIMITS}\n" if lines else ""


def marks(facts: Facts) -> str:
    """What is worth knowing of a candidate beside its outcomes."""
    return bullets(
        [
            f"{prose(candidate)} on {prose(column.title)}: {prose('; '.join(found))}"
            for column in facts.columns
            for candidate, found in summary.marks(column.group.report).items()
        ]
    )
