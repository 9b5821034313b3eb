"""``bundler check``: hold experiments to the minimum bar."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bundler.cli.console import console
from bundler.errors import ExitCode
from bundler.experiment.check import check as check_experiment
from bundler.experiment.check import experiments_below
from bundler.experiment.finding import Checked, Finding, Severity
from bundler.experiment.place import existing
from bundler.model.plan import Deviation
from bundler.report.terminal.lines import say
from bundler.report.text import count, plain

_NAME = "name proof/<category>/<kernel>, or a folder above"
_MOST = 2000
"""Characters of a finding that are shown."""
_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}


def check(
    folders: Annotated[list[Path], typer.Argument(help="proof/<category>/<kernel>, or a folder above.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say everything that an experiment lacks, errors apart from warnings. Runs nothing of it.

    The same model in both arms, only the skill differs, outputs unedited, controls, hardware and shapes
    stated, each deviation from the plan noted, the evidence of these very files. Exits with 3 when there is
    an error.
    """
    paths = dict.fromkeys(path for folder in folders for path in experiments_below(existing(folder, _NAME)))
    checked = [check_experiment(path) for path in paths]
    errors = sum(one.errors for one in checked)
    if as_json:
        told = {"errors": errors, "experiments": [one.model_dump(mode="json") for one in checked]}
        typer.echo(json.dumps(told, indent=1))
    else:
        out = console()
        for line in _lines(checked):
            say(out, line)
    if errors:
        raise typer.Exit(ExitCode.BAD_DATA)


def _lines(checked: Sequence[Checked]) -> Iterator[Text]:
    for one in checked:
        yield Text(plain(one.folder), "bold")
        for finding, after in itertools.zip_longest(one.findings, one.findings[1:]):
            yield from _finding(finding)
            if after is None or after.hint != finding.hint:
                yield Text(f"           → {plain(finding.hint, _MOST)}", "dim")
        for deviation in one.deviations:
            if deviation.noted:
                yield _deviation(deviation)
    errors = sum(one.errors for one in checked)
    warnings = sum(len(one.findings) for one in checked) - errors
    told = (count(len(checked), "experiment"), count(errors, "error"), count(warnings, "warning"))
    yield Text(", ".join(told))


def _finding(finding: Finding) -> Iterator[Text]:
    # Line by line, so that a stranger's line break forges nothing, and a list of problems stays one.
    first, *more = finding.text.splitlines() or [""]
    head = (f"  {finding.severity:7}  ", _STYLE[finding.severity])
    yield Text.assemble(head, f"{finding.rule}: {plain(first, _MOST)}")
    for line in more:
        yield Text(f"           {plain(line, _MOST)}")


def _deviation(deviation: Deviation) -> Text:
    bears = ", ".join(deviation.bears_on)
    what = f"{deviation.field}: planned {deviation.planned}, found {deviation.found}; bears on {bears}"
    return Text.assemble(
        ("  noted    ", "cyan"), plain(what, _MOST), "\n           ", plain(deviation.note, _MOST)
    )
