"""``bundler skills``: what can be done with the skills in skills/."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter

from bundler.errors import ExitCode
from bundler.skills import Checked, check_paths

app = typer.Typer(help="Check the skills in skills/<category>/<name>/.", no_args_is_help=True)


@app.callback()
def _skills() -> None:
    """Keep ``check`` a command of its own: typer would make a lone one the whole group."""


@app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Skills' folders, or folders above them. Without any: ROOT/skills."),
    ] = None,
    root: Annotated[Path, typer.Option(help="The folder that has skills/ in it.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check every rule of every skill and print all problems. Exits with 3 when there is one."""
    checked = check_paths(paths or [], root)
    typer.echo(TypeAdapter(Checked).dump_json(checked, indent=2).decode() if as_json else _lines(checked))
    if checked.problems:
        raise typer.Exit(ExitCode.BAD_DATA)


def _lines(checked: Checked) -> str:
    found = [f"{problem}\n  → {problem.hint}" for problem in checked.problems]
    return "\n".join([*found, f"{checked.skills} skills checked, {len(checked.problems)} problems"])
