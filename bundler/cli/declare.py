"""``bundler declare``: an experiment's digests, as its files are now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bundler.experiment.digests import declare as redeclare
from bundler.experiment.doubtful import doubtful
from bundler.experiment.place import experiment_folder
from bundler.report.text import plain


def declare(
    folder: Annotated[Path, typer.Argument(help="proof/<category>/<kernel>")],
) -> None:
    """Write the files' and the prompts' sha256 into experiment.yaml, as they are now.

    For an experiment that is being made. Once evidence is recorded nothing is written: an output is never
    edited.
    """
    changed = redeclare(experiment_folder(folder))
    for one in changed:
        typer.echo(f"{plain(one.of)} {one.now}")
    if not changed:
        typer.echo("every digest is declared as it is")
    for finding in doubtful(experiment_folder(folder)):
        typer.echo(f"warning: {plain(finding.text)}\n  → {finding.hint}", err=True)
