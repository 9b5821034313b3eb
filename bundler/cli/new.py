"""``bundler new``: lay out an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bundler.experiment.check import MARK
from bundler.experiment.scaffold import scaffold
from bundler.model.experiment import Language


def new(
    experiment: Annotated[str, typer.Argument(help="<category>/<kernel>, the folder below proof/.")],
    skill: Annotated[str, typer.Option(help="<category>/<name>, the folder below skills/.")],
    language: Annotated[Language, typer.Option(help="What the candidates are written in.")] = Language.TRITON,
    runs: Annotated[int, typer.Option(min=1, max=99, help="Outputs an arm.")] = 3,
    root: Annotated[Path, typer.Option(help="The folder that has skills/ in it.")] = Path(),
) -> None:
    """Lay out an experiment that passes check but for what only its author can fill in.

    Each such place is marked, and check lists them. What is there already is never overwritten.
    """
    folder = scaffold(root, experiment, skill, runs=runs, language=language)
    typer.echo(f"{folder}: fill in what is marked {MARK.rstrip(':')}")
    typer.echo(f"write the digests of what you changed:  bundler declare {folder}")
    typer.echo(f"see what is left:                       bundler check {folder}")
