"""``bundler record``: run an experiment here and store what came of it as recorded evidence."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bundler import interrupts
from bundler.cli import options, progress
from bundler.cli.console import console
from bundler.engine.as_root import check_reach
from bundler.errors import ExitCode, UsageError
from bundler.experiment.load import load, unlisted
from bundler.experiment.place import experiment_folder
from bundler.files import check_folder_writable, write_below
from bundler.judge.verdict import hold
from bundler.model.base import NAME
from bundler.model.evidence import evidence_json
from bundler.replay.replay import replay
from bundler.replay.request import Watch
from bundler.report.terminal import screen
from bundler.report.terminal.verdict import Unheld
from bundler.report.text import plain


def record(
    folder: Annotated[Path, typer.Argument(help="proof/<category>/<kernel>")],
    name: Annotated[str, typer.Argument(help="Of the host: the evidence goes to evidence/NAME.json.xz.")],
    ground: options.GroundOption = None,
    arch: options.ArchOption = None,
    seed: options.SeedOption = "0",
    jobs: options.JobsOption = 0,
    time: options.TimeOption = False,
    slow: options.SlowOption = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace evidence/NAME.json.xz where it is there already.")
    ] = False,
) -> None:
    """Run every cell on this host and store the evidence below the experiment's folder.

    A ground whose controls misbehave is not stored: nothing is, and the exit code is 5.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name", hint="use lowercase letters, digits and hyphens")
    path = folder / _evidence(name)
    if path.exists() and not replace:
        raise UsageError(
            f"{str(path)!r} is there already",
            hint="name this host otherwise, or give --replace: what is recorded there is lost then",
        )
    out = console()
    loaded = load(experiment_folder(folder), evidence=False)
    request = options.Selection(ground, arch, None, None, seed, jobs, time, slow).request(loaded)
    check_folder_writable(path.parent)
    check_reach()
    with progress.stepping(console(stderr=True)) as step, interrupts.undoing():
        evidence = replay(loaded, request, Watch(step))
    verdict = hold(loaded.experiment, evidence, ())
    screen.show(out, loaded.experiment, evidence, verdict, matrix=False, unheld=Unheld("RAN", ""))
    invalid = any(report.status == "invalid" for report in evidence.grounds.values())
    if not evidence.complete or invalid:
        out.print(Text("nothing is stored", "yellow"))
        raise typer.Exit(ExitCode.INVALID if evidence.complete else ExitCode.INCOMPLETE)
    judged = {ground: report for ground, report in evidence.grounds.items() if report.status == "judged"}
    data = evidence_json(evidence.model_copy(update={"grounds": judged}))
    write_below(folder, _evidence(name), lzma.compress(data))
    out.print(Text(f"stored: {path}"))
    for line in unlisted(loaded, [_evidence(name)]):
        out.print(Text(plain(line, 2000)))


def _evidence(name: str) -> str:
    return f"evidence/{name}.json.xz"
