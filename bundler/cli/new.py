"""``bundler new``: lay out an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bundler.experiment.check import MARK
from bundler.experiment.scaffold import scaffold


def new(
    experiment: Annotated[str, typer.Argument(help="<category>/<kernel>, the folder below proof/.")],
    skill: Annotated[str, typer.Option(help="<category>/<name>, the folder below skills/.")],
    runs: Annotated[int, typer.Option(min=1, max=99, help="Outputs an arm.")] = 3,
    root: Annotated[Path, typer.Option(help="The folder that has skills/ in it.")] = Path(),
) -> None:
    """Lay out an experiment that passes check but for what only its author can fill in.

    Each such place is marked, and check lists them. What is there already is never overwritten.
    """
    folder = scaffold(root, experiment, skill, runs=runs)
    typer.echo(f"{folder}: fill in what is marked {MARK} and see what is left with: bundler check {folder}")
