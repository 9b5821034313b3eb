"""How far a replay is: a bar on a terminal, lines for a bundler outside, else nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bundler import interrupts
from bundler.engine.steps import progress_line
from bundler.replay.request import Step


@contextlib.contextmanager
def stepping(console: Console) -> Iterator[Callable[[Step], None]]:
    """A function that takes steps, for as long as the block runs."""
    if interrupts.for_another():
        yield lambda step: print(progress_line(step), file=sys.stderr, flush=True)
    elif console.is_terminal:
        with _bar(console) as step:
            yield step
    else:
        yield lambda step: None


@contextlib.contextmanager
def _bar(console: Console) -> Iterator[Callable[[Step], None]]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # The terminal's cursor is hidden meanwhile.
    with interrupts.undoing(), Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def step(now: Step) -> None:
            if now.ground not in tasks:
                tasks[now.ground] = progress.add_task(now.ground, total=now.total)
            progress.update(tasks[now.ground], completed=now.done, total=now.total)

        yield step
