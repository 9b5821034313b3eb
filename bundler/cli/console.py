"""The console that commands print to."""

from __future__ import annotations

import os
import sys

from rich.console import Console

WIDTH_ELSEWHERE = 120
"""Columns where the output is no terminal: a log, a file, a container's output."""


def console(*, stderr: bool = False) -> Console:
    """As wide as the terminal, or as COLUMNS says; colours only there, and not under NO_COLOR.

    Lines are wrapped where a reader has a width; elsewhere, and on stderr, whose hints are copied, they are
    whole.
    """
    stream = sys.stderr if stderr else sys.stdout
    asked = os.environ.get("COLUMNS", "")
    known = stream.isatty() or (asked.isdecimal() and int(asked) > 0)
    width = None if known else WIDTH_ELSEWHERE
    return Console(stderr=stderr, width=width, soft_wrap=stderr or not known, highlight=False)
