"""The facts of a report into the page's template. The one import site of jinja2.

Autoescape is on, and what a stranger's process said passes through ``shown`` first, since escaping
leaves control and direction characters as they are.
"""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup

from bundler.model.experiment import Arm
from bundler.report import checked, runs
from bundler.report import timings as timing_rows
from bundler.report.across import Column, Facts, exact, failures, never_judged, not_run, size_names
from bundler.report.diff import changed, side_by_side
from bundler.report.hosts import arm_note, provenance
from bundler.report.html import heat, style
from bundler.report.html.author import rendered
from bundler.report.markdown import beside, disagreeing, first_line, hosts_of
from bundler.report.pages import EXACT, UNMEASURED, error_charts, replay_commands
from bundler.report.pairs import Pair, code_pairs, prompt_pairs
from bundler.report.parameters import by_parameter
from bundler.report.summary import LIMITS, Trouble, marks, troubles
from bundler.report.terminal.verdict import result
from bundler.report.text import count, few, plain

_FOLDER = Path(__file__).parent


def page(facts: Facts) -> str:
    """The whole file. The same facts give the same text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"shown": _shown, "few": few}
    environment.globals |= {"count": count, "arm_note": arm_note}
    return environment.get_template("page.html").render(_values(facts))


def _shown(text: object) -> str:
    return plain(str(text), 2000)


def _values(facts: Facts) -> dict[str, object]:
    experiment, columns, evidence = facts.loaded.experiment, facts.columns, dict(facts.evidence)
    return {
        # Ours alone: no part of them comes from an experiment.
        "css": Markup(style.sheet((_FOLDER / "page.css").read_text())),  # noqa: S704
        "experiment": experiment,
        "headline": first_line(facts),
        "remarks": beside(facts),
        "held": [(name, result(evidence[name], verdict).plain) for name, verdict in facts.verdicts],
        "columns": columns,
        "matrix": heat.matrix(facts),
        "maps": [heat.heat_map(facts, column) for column in columns],
        "runs": runs.lines(facts),
        "checked": checked.lines(facts),
        "deviations": facts.deviations,
        "never": never_judged(experiment, facts.evidence),
        "unrun": not_run(facts.evidence),
        "failures": failures(facts.loaded, columns),
        "said": _said(facts),
        "by_parameter": by_parameter(facts.loaded, columns),
        "disagreements": disagreeing(facts),
        "limits": LIMITS,
        "marks": [(column, c, m) for column in columns for c, m in marks(column.group.report).items()],
        # charts.py escapes all that it is given.
        "errors": [(title, Markup(svg)) for _, title, svg in error_charts(facts)],  # noqa: S704
        "no_errors": EXACT if exact(facts.loaded) else UNMEASURED,
        "size": " x ".join(size_names(facts.loaded)),
        "code": [_diff(pair) for pair in code_pairs(facts.loaded)],
        "prompts": [_diff(pair) for pair in prompt_pairs(facts.loaded)],
        "hosts": hosts_of(facts),
        "timings": [(n, found) for n, e in facts.evidence if (found := timing_rows.rows(e, experiment))],
        "ratios": [
            (n, timing_rows.said(p)) for n, e in facts.evidence for p in timing_rows.pairs(experiment, e)
        ],
        "directions": timing_rows.agreements(experiment, facts.evidence),
        "no_timings": timing_rows.NONE,
        # Rendered with raw HTML and images off.
        "analysis": Markup(rendered(facts.analysis)),  # noqa: S704
        "provenance": provenance(facts),
        "commands": replay_commands(facts),
    }


def _said(facts: Facts) -> list[tuple[bool, list[tuple[Column, Trouble, Arm]]]]:
    """What did not pass: first of all but the controls, then, True, of those that fail on purpose."""
    arms = {c.id: c.arm for c in facts.loaded.experiment.candidates()}
    found = [(c, one, arms[one.candidate]) for c in facts.columns for one in troubles(c.group)]
    parts = [(control, [f for f in found if f[2].is_control is control]) for control in (False, True)]
    return [(control, its) for control, its in parts if its]


def _diff(pair: Pair) -> dict[str, object]:
    rows = side_by_side(pair.left_text, pair.right_text)
    return {"pair": pair, "rows": rows, "changed": changed(rows)}
