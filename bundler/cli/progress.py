"""How far a replay is: a bar on a terminal, each step for a bundler outside, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bundler import interrupts
from bundler.engine.steps import progress_line
from bundler.replay.request import Step

_SELDOM_S, _OFTEN_S = 30.0, 10.0
"""Of lines in a log: after the one there is another; after the other only where a tenth more is done."""


@contextlib.contextmanager
def stepping(console: Console) -> Iterator[Callable[[Step], None]]:
    """A function that takes steps, for as long as the block runs."""
    if interrupts.for_another():
        yield lambda step: print(progress_line(step), file=sys.stderr, flush=True)
    elif console.is_terminal:
        with _bar(console) as step:
            yield step
    else:
        yield lines(console)


def lines(console: Console, clock: Callable[[], float] = time.monotonic) -> Callable[[Step], None]:
    """A line for a log as a ground begins, now and then, and as it ends: a replay may take minutes."""
    begun: dict[str, tuple[float, Step]] = {}
    last: dict[str, tuple[float, Step]] = {}

    def step(now: Step) -> None:
        time_s = clock()
        before_s, before = last.get(now.ground, (time_s, None))
        if before is None or now.total != before.total or now.done < before.done:  # timing counts anew
            begun[now.ground] = time_s, now
        elif not _is_due(now, before, time_s - before_s):
            return
        last[now.ground] = time_s, now
        begun_s, first = begun[now.ground]
        told = f"{now.ground}: {now.done:,} of {now.total:,} cells{_left(now, first, time_s - begun_s)}"
        console.print(told, style="dim", highlight=False)

    return step


def _is_due(now: Step, last: Step, since_s: float) -> bool:
    tenth = 10 * (now.done - last.done) >= now.total
    return now.done == now.total or since_s >= _SELDOM_S or (tenth and since_s >= _OFTEN_S)


def _left(now: Step, begun: Step, since_s: float) -> str:
    """By the mean of the cells so far; nothing where there is none, or none is left."""
    if now.done <= begun.done or now.done == now.total:
        return ""
    seconds = since_s / (now.done - begun.done) * (now.total - now.done)
    minutes = round(seconds / 60)
    if minutes < 2:
        return f", about {seconds:.0f} s left"
    return f", about {minutes} min left" if minutes < 120 else f", about {minutes / 60:.1f} h left"


@contextlib.contextmanager
def _bar(console: Console) -> Iterator[Callable[[Step], None]]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    # The terminal's cursor is hidden meanwhile.
    with interrupts.undoing(), Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def step(now: Step) -> None:
            if now.ground not in tasks:
                tasks[now.ground] = progress.add_task(now.ground, total=now.total)
            progress.update(tasks[now.ground], completed=now.done, total=now.total)

        yield step
