"""``bundler verify``: replay a bundle and hold it against its recorded evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from bundler import interrupts
from bundler.cli import options, progress
from bundler.cli.console import console
from bundler.cli.targets import TargetArgument, default_target, targets_of
from bundler.engine.replayed import Engine, Options, Replayed
from bundler.errors import ExitCode
from bundler.experiment.load import Loaded, unlisted
from bundler.files import check_writable, write_whole
from bundler.judge.verdict import exit_code, hold
from bundler.model.evidence import Evidence, evidence_json
from bundler.model.experiment import Experiment
from bundler.replay.request import Watch
from bundler.report.terminal import screen
from bundler.report.terminal.verdict import Unheld
from bundler.report.text import plain


def verify(
    context: typer.Context,
    target: TargetArgument = None,
    ground: options.GroundOption = None,
    arch: options.ArchOption = None,
    candidate: options.CandidateOption = None,
    case: options.CaseOption = None,
    seed: options.SeedOption = "0",
    jobs: options.JobsOption = 0,
    time: options.TimeOption = False,
    slow: options.SlowOption = False,
    json_: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the evidence to this file; - is stdout."),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Where to run it.")] = Engine.AUTO,
    gpu: Annotated[bool, typer.Option("--gpu/--no-gpu", help="Use the GPU where there is one.")] = True,
    own_replayer: Annotated[
        bool,
        typer.Option(
            "--own-replayer",
            help="Without Docker, where the bundle's own replayer is not this bundler, run it unconfined: "
            "code of whoever froze the bundle, with your rights.",
        ),
    ] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="Show every case, not only counts.")] = False,
) -> None:
    """Run the stored kernels again and say, cell by cell, whether the recorded outcome is reproduced.

    Exit code 0: all that was judged is reproduced. 1: something differs. 2: usage. 3: a bad bundle.
    4: nothing could be judged. 5: a control misbehaved. 6: something needed is not there. 7: cut short.
    """
    selection = options.Selection(ground, arch, candidate, case, seed, jobs, time, slow)
    if json_ not in (None, "-"):
        check_writable(Path(json_))
    out = console(stderr=json_ == "-")
    out.quiet = interrupts.for_another()
    errors = console(stderr=True)
    save = _saver(json_)
    with contextlib.ExitStack() as bar:
        how = Options(
            engine=engine,
            gpu=gpu,
            watch=Watch(
                bar.enter_context(progress.stepping(errors)),
                save if json_ not in (None, "-") else lambda evidence: None,
            ),
            say=lambda line: errors.print(Text(plain(line), "dim")),
            own_replayer=own_replayer,
        )
        verified = targets_of(context).verified
        with verified(target or default_target(), selection.request, how) as replayed:
            bar.close()  # it is drawn over whatever is printed beside it
            try:
                save(replayed.evidence)
            finally:  # a disk that has filled up since hides no verdict
                notes = (*replayed.notes, *selection.not_asked_for(replayed.loaded))
                code = _report(out, replace(replayed, notes=notes), matrix, untimed=time)
    raise typer.Exit(code)


def _saver(name: str | None) -> Callable[[Evidence], None]:
    if name is None:
        return lambda evidence: None
    if name == "-":
        return lambda evidence: typer.echo(evidence_json(evidence))
    return lambda evidence: write_whole(Path(name), evidence_json(evidence))


def _report(out: Console, replayed: Replayed, matrix: bool, *, untimed: bool) -> ExitCode:
    verdict = hold(replayed.loaded.experiment, replayed.evidence, replayed.loaded.recorded)
    for note in replayed.notes:
        out.print(Text(plain(note), "dim"))
    loaded = replayed.loaded
    if loaded.recorded:
        for line in _unlisted(loaded):
            out.print(Text(plain(line, 2000), "yellow"))
    if untimed and (why := why_untimed(loaded.experiment, replayed.evidence)):
        out.print(Text(f"nothing was timed: {plain(why)}", "yellow"))
    screen.show(
        out,
        loaded.experiment,
        replayed.evidence,
        verdict,
        matrix=matrix,
        recorded=loaded.recorded,
        unheld=None if loaded.recorded else _unrecorded(loaded),
    )
    return exit_code(replayed.evidence, verdict)


def _unrecorded(loaded: Loaded) -> Unheld:
    if told := _unlisted(loaded):
        return Unheld("NOTHING LISTED YET to hold this against", "; ".join(told))
    then = f"to keep that as this host's evidence: bundler record proof/{loaded.experiment.id} NAME"
    return Unheld("NOTHING RECORDED YET to hold this against", then)


def _unlisted(loaded: Loaded) -> list[str]:
    there = loaded.folder.glob("evidence/*.json*")
    return unlisted(loaded, [f"evidence/{path.name}" for path in there])


def why_untimed(experiment: Experiment, evidence: Evidence) -> str:
    """Why timing was asked for and no cell is listed as timed or not; empty where cells are listed."""
    if evidence.timings is not None and evidence.timings.cells:
        return ""
    if experiment.timing is None:
        return "the experiment names no cells for it (timing in experiment.yaml)"
    device = evidence.grounds.get("device")
    if device is None:
        return "cells are timed on the device ground, which was not asked for"
    if device.status != "judged":
        return "cells are timed on the device, where none ran here; the reason is below"
    return "none of the cells that the experiment names ran on the device"
