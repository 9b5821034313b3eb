"""Every command. A command's module is loaded when it is run: to load all costs more than most runs."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from bundler.cli import completion
from bundler.cli.examples import SHORT, epilog
from bundler.cli.outside import OUTSIDE
from bundler.cli.top import new_app, run

COMMANDS = {
    "verify": "verify",
    "freeze": "freeze",
    "rebase": "freeze",
    "show": "show",
    "env": "show",
    "extract": "show",
    "record": "record",
    "new": "new",
    "declare": "declare",
    "check": "check",
    "compare": "compare",
    "diff": "diff",
    "index": "index",
    "report": "report",
    "host": "host",
    "schema": "schema",
    "completion": "completion",
}
"""By name, in the order of ``--help``: the module of bundler.cli that has a function of that name."""
SKILLS = "skills"


def app_of(first: str) -> typer.Typer:
    """The application with the one command ``first``, or with all where that names none."""
    app = new_app(OUTSIDE)
    for name in [first] if first in COMMANDS else COMMANDS:
        function = getattr(import_module(f"bundler.cli.{COMMANDS[name]}"), name)
        app.command(name, epilog=epilog(name), short_help=SHORT[name])(function)
    if first not in COMMANDS:
        skills = import_module("bundler.cli.skills").app
        app.add_typer(skills, name=SKILLS, help="The skills of this repository.")
    return app


def __getattr__(name: str) -> typer.Typer:
    """``app``, with every command, for what asks about them."""
    if name != "app":
        raise AttributeError(name)
    return app_of("")


def main() -> None:
    """Run the command line and exit."""
    completing = completion.asked()
    first = "" if completing else "".join(sys.argv[1:2])
    run(app_of(first), completing=completing)
