"""The programs that build a runtime: mmdebstrap and pip, behind one type that a test can replace."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bundler.errors import UnavailableError


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    code: int
    output: str
    """stdout."""
    errors: str
    """stderr."""


class Run(Protocol):
    """Run a program to its end. It may fail; the caller reads ``code``."""

    def __call__(self, command: Sequence[str], *, env: Mapping[str, str]) -> Finished:
        """``env`` is added to this process's own. Raises UnavailableError when there is no such program."""


def run(command: Sequence[str], *, env: Mapping[str, str]) -> Finished:
    """``Run`` for real. The umask is fixed: Debian's maintainer scripts create files under it."""
    try:
        done = subprocess.run(
            command, env=os.environ | env, umask=0o022, text=True, capture_output=True, check=False
        )
    except FileNotFoundError as error:
        hint = f"install {command[0]}; on Debian: apt-get install {command[0]}"
        raise UnavailableError(f"{command[0]} is not installed", hint=hint) from error
    return Finished(done.returncode, done.stdout, done.stderr)


def last_lines(text: str, count: int = 6) -> str:
    """The end of ``text``, where programs say what went wrong."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])
