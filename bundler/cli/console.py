"""The console that commands print to."""

from __future__ import annotations

import sys

from rich.console import Console

WIDTH_ELSEWHERE = 120
"""Columns where the output is no terminal: a log, a file, a container's output."""


def console(*, stderr: bool = False) -> Console:
    """As wide as the terminal; colours only there, and not under NO_COLOR."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDTH_ELSEWHERE
    return Console(stderr=stderr, width=width, soft_wrap=True, highlight=False)
