"""How far a replay is: a bar on a terminal, each step for a bundler outside, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bundler import interrupts
from bundler.engine.steps import progress_line
from bundler.replay.request import Step

_EVERY_S = 30.0


@contextlib.contextmanager
def stepping(console: Console) -> Iterator[Callable[[Step], None]]:
    """A function that takes steps, for as long as the block runs."""
    if interrupts.for_another():
        yield lambda step: print(progress_line(step), file=sys.stderr, flush=True)
    elif console.is_terminal:
        with _bar(console) as step:
            yield step
    else:
        yield _lines(console)


def _lines(console: Console) -> Callable[[Step], None]:
    """A line for a log, as a ground begins and now and then: a replay may take minutes."""
    last: dict[str, float] = {}

    def step(now: Step) -> None:
        time_s = time.monotonic()
        if time_s - last.get(now.ground, -_EVERY_S) >= _EVERY_S:
            last[now.ground] = time_s
            console.print(f"{now.ground}: {now.done:,} of {now.total:,} cells", style="dim", highlight=False)

    return step


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
