"""How far a replay is, where nothing draws a bar: a line now and then, with the time that is left."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from rich.console import Console

from bundler.cli.progress import lines
from bundler.replay.request import Step


def printed(steps: Iterable[tuple[float, Step]]) -> list[str]:
    """The lines for steps at given seconds."""
    out, at = io.StringIO(), [0.0]
    step = lines(Console(file=out, width=120), lambda: at[0])
    for at[0], one in steps:
        step(one)
    return out.getvalue().splitlines()


def test_what_is_over_in_a_moment_has_two_lines() -> None:
    steps = [(done / 100, Step("interpreter", done, 100)) for done in range(1, 101)]
    assert printed(steps) == ["interpreter: 1 of 100 cells", "interpreter: 100 of 100 cells"]


def test_a_line_at_each_tenth_and_no_sooner_than_after_ten_seconds() -> None:
    """A cell a second, of a hundred."""
    told = printed((done, Step("compile", done, 100)) for done in range(1, 101))
    assert told == [
        "compile: 1 of 100 cells",
        *(f"compile: {n} of 100 cells, about {100 - n} s left" for n in range(11, 12)),
        *(f"compile: {n} of 100 cells, about {100 - n} s left" for n in range(21, 100, 10)),
        "compile: 100 of 100 cells",
    ]


def test_of_cells_that_take_long_a_line_at_least_every_thirty_seconds() -> None:
    told = printed((20 * done, Step("device", done, 1000)) for done in range(1, 6))
    assert told == [
        "device: 1 of 1,000 cells",
        "device: 3 of 1,000 cells, about 5.5 h left",
        "device: 5 of 1,000 cells, about 5.5 h left",
    ]


def test_minutes() -> None:
    assert printed([(0, Step("device", 10, 50)), (300, Step("device", 20, 50))])[-1] == (
        "device: 20 of 50 cells, about 15 min left"
    )


@pytest.mark.parametrize("total", [12, 20, 30])
def test_timing_on_the_device_is_counted_anew(total: int) -> None:
    told = printed(
        [(0, Step("device", 1, 20)), (100, Step("device", 20, 20)), (100, Step("device", 1, total))]
    )
    assert told[-1] == f"device: 1 of {total} cells"


def test_grounds_are_counted_apart() -> None:
    told = printed([(0, Step("device", 1, 20)), (1, Step("compile", 1, 20)), (2, Step("device", 2, 20))])
    assert told == ["device: 1 of 20 cells", "compile: 1 of 20 cells"]
