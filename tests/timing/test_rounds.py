"""Rounds for the judge's stopwatch: how many are asked for, and how long the device is held back for them."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from bundler.replay import rounds
from bundler.worker.timer import Timer
from tests.timing.fakes import FakeGpu


class _Timer:
    """Rounds of 20 µs; the driver enqueues ``queue`` of them and then waits until the block has ended."""

    def __init__(self, queue: int, late: float = 0) -> None:
        self.queue, self.late = queue, late
        self.clock_s = 0.0
        self.asked = 0

    def do(self, action: str, *, order: list[int], call: bool, most: int) -> Any:
        self.asked += 1
        late = bool(self.late) and self.asked % self.late == 0
        self.clock_s += 1e-3 + 20e-6 * len(order) + (1 if late else 0)
        return SimpleNamespace(covered=len(order) <= self.queue and not late)


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


@pytest.mark.parametrize(("every", "repeats", "covered"), [(5, 5, True), (2, 10, False), (3, 3, True)])
def test_rounds_that_a_busy_host_was_late_with_do_not_count(
    monkeypatch: pytest.MonkeyPatch, every: int, repeats: int, covered: bool
) -> None:
    timer = _Timer(1024, late=every)
    monkeypatch.setattr(rounds, "_now_s", lambda: timer.clock_s)
    watch = rounds.time_rounds(timer, lambda n: [0] * n, calls_a_round=1, without=False)  # type: ignore[arg-type]
    assert (len(watch.with_call), watch.covered) == (repeats, covered)
    assert all(twice < 0.1 for _, twice in watch.with_call) is covered


class _Blocks(FakeGpu):
    """Notes for how long it is blocked."""

    def __init__(self) -> None:
        super().__init__()
        self.ns: list[int] = []

    def block(self, ns: int) -> None:
        self.ns.append(ns)


def test_after_rounds_that_were_late_the_block_is_longer() -> None:
    """A call that takes longer to enqueue than it did when it was warmed up."""
    gpu, slow = _Blocks(), False

    def call(arguments: list[Any]) -> list[Any]:
        time.sleep(0.01 if slow else 0)
        return arguments

    timer = Timer(call, lambda specs: [], lambda flush_bytes: gpu)
    timer.answer({"action": "setup", "sets": [[]], "flush_bytes": 0}, memoryview(b""))
    rounds_ = {"action": "rounds", "order": [0, 0], "call": True, "most": 4}
    slow = gpu.starves = True
    assert timer.answer(rounds_, memoryview(b""))[0]["covered"] is False
    gpu.starves = False
    timer.answer(rounds_, memoryview(b""))
    before, after = gpu.ns[-2:]
    assert after >= 4 * 10_000_000
    assert after > before


class _LateAlone(_Timer):
    """Late with every fifth request for rounds without the call."""

    def do(self, action: str, *, order: list[int], call: bool, most: int) -> Any:
        self.asked += not call
        late = not call and self.asked % 5 == 0
        self.clock_s += 1e-3 + 20e-6 * len(order) + (1 if late else 0)
        return SimpleNamespace(covered=not late)


def test_late_rounds_without_the_call_do_not_count_either(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = _LateAlone(1024)
    monkeypatch.setattr(rounds, "_now_s", lambda: timer.clock_s)
    watch = rounds.time_rounds(timer, lambda n: [0] * n, calls_a_round=1, without=True)  # type: ignore[arg-type]
    assert (len(watch.with_call), len(watch.without_call), watch.covered) == (5, 5, True)
    assert all(twice < 0.1 for _, twice in watch.without_call)
