"""How many rounds the judge's stopwatch asks for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bundler.replay import rounds


class _Timer:
    """Rounds of 20 µs; the driver enqueues ``queue`` of them and then waits until the block has ended."""

    def __init__(self, queue: int) -> None:
        self.queue = queue
        self.clock_s = 0.0

    def do(self, action: str, *, order: list[int], call: bool, most: int) -> Any:
        self.clock_s += 1e-3 + 20e-6 * len(order)
        return SimpleNamespace(covered=len(order) <= self.queue)


@pytest.mark.parametrize(
    ("queue", "calls", "covered"),
    [(1024, 200, True), (400, 200, True), (399, 100, True), (170, 50, True), (9, 8, False)],
)
def test_as_many_rounds_as_the_driver_enqueues(
    monkeypatch: pytest.MonkeyPatch, queue: int, calls: int, covered: bool
) -> None:
    """Calls of several launches fill its queue sooner; rounds that wait for the device bound nothing."""
    timer = _Timer(queue)
    monkeypatch.setattr(rounds, "_now_s", lambda: timer.clock_s)
    watch = rounds.time_rounds(timer, lambda n: [0] * n, calls_a_round=1, without=False)  # type: ignore[arg-type]
    assert (watch.calls, watch.covered) == (calls, covered)
