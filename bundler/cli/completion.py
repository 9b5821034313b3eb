"""``bundler completion``: the script that makes a shell complete bundler's commands and options."""

from __future__ import annotations

import enum
import os
from typing import Annotated

import typer
from typer._completion_classes import completion_init  # typer.completion has both, and exports neither
from typer._completion_shared import get_completion_script

_VARIABLE = "_BUNDLER_COMPLETE"
"""What the script sets when it asks ``bundler`` what could follow."""


class Shell(enum.StrEnum):
    """A shell that can be told."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Whose script.")]) -> None:
    """Print a shell's completion script. It writes nothing into your shell's files.

    bash: eval "$(bundler completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc, after compinit; fish:
    bundler completion fish > ~/.config/fish/completions/bundler.fish
    """
    typer.echo(get_completion_script(prog_name="bundler", complete_var=_VARIABLE, shell=shell.value))


def asked() -> bool:
    """Whether a shell asks what could follow; typer then answers and ends the process."""
    if _VARIABLE not in os.environ:
        return False
    completion_init()
    return True
