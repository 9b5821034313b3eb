"""A timed process from the judge's side, and the timer in it, on a fake device."""

from __future__ import annotations

import random
from collections.abc import MutableSequence, Sequence
from typing import Any

import pytest

from bundler.model.experiment import Experiment
from bundler.model.timing import Cache, Method, State, TimedCell
from bundler.replay import timed_process
from bundler.replay.allowance import Allowance
from bundler.replay.process import Ended
from bundler.replay.runner import Job
from bundler.replay.timed_process import Target, TimedProcess
from bundler.timing.judge import judge_timing
from bundler.timing.stopwatch import slope
from bundler.worker import wire
from tests.judge.conftest import SHA
from tests.judge.conftest import experiment as make_experiment
from tests.timing.fakes import GPU, L2, FakeGpu, FakeOracle, FakeSampler, TimedWorker, TimedZygote, be_quick

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
SIZE = 1 << 16
"""Elements: 256 KiB in and 256 KiB out, eight times the fake device's L2."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    be_quick(monkeypatch)
    # How fast this machine is must not matter.
    monkeypatch.setattr(timed_process, "_now_s", lambda: FakeGpu.clock_s)


def _experiment() -> Experiment:
    return make_experiment(
        id="tests/timing",
        arms=[{"name": "a", "origin": "reconstructed", "outputs": [{"path": "a.py", "sha256": SHA}]}],
        harness={"path": "harness.py", "sets": 2},
        returns=[{"name": "out", "dtype": "float32", "compare": {"nan": "equal", "reason": "a test"}}],
        cases=[{"id": "n", "params": {"n": SIZE}}],
        timing={"cases": ["n"], "bytes": 8 * SIZE},
    )


def _target(**fields: Any) -> Target:
    experiment = _experiment()
    made: dict[str, Any] = {
        "job": Job(experiment, experiment.candidates()[0], b"", Allowance(memory_bytes=1 << 30)),
        "experiment": experiment,
        "case": experiment.expand()[0],
        "data": FakeOracle(2.0).case(experiment.expand()[0]),
        "oracle": None,
        "flush_bytes": 2 * L2,
        "sets": 2,
        "graph": False,
    }
    return Target(**(made | fields))


def _cell(call: Any, processes: int = 1, prepare: Any = lambda gpu: None, **fields: Any) -> TimedCell:
    target, zygote = _target(**fields), TimedZygote(call, prepare)
    given = []
    for _ in range(processes):
        process = TimedProcess(target, GPU, FakeSampler)  # type: ignore[arg-type]
        given.append(process.run(zygote))  # type: ignore[arg-type]
    assert all(worker.closed for worker in zygote.workers)
    return TimedCell(
        candidate="a/a", case="n", cache=Cache.COLD, method=Method.EVENTS, call_bytes=8 * SIZE, sets=2,
        flush_bytes=2 * L2, bytes=8.0 * SIZE, processes=tuple(given),
    )  # fmt: skip


def _rules(cell: TimedCell) -> set[str]:
    verdict = judge_timing(cell, GPU)
    assert verdict is not None
    return {reason.rule for reason in verdict.reasons}


CALL_US = 500.0


def _right(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
    gpu.work(CALL_US)
    return arguments[0] * 2


def test_a_right_candidate_lacks_only_processes_and_time() -> None:
    cell = _cell(_right)
    (process,) = cell.processes
    assert process.problem == ""
    assert set(process.samples_us) == {CALL_US}
    assert process.checked > 0
    assert process.stopwatch is not None
    found = slope(process.stopwatch)
    assert found is not None
    assert found.call_us == pytest.approx(CALL_US)
    assert {sample.phase for sample in process.host} == {"before", "during", "after"}
    assert _rules(cell) == {"T15", "T16"}


def test_the_flush_is_outside_of_the_span_and_before_every_call() -> None:
    seen: list[list[str]] = []

    def call(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
        seen.append(gpu.log[-2:])
        return _right(gpu, arguments)

    _cell(call)
    warm_ups = 6
    assert all(before[-1] == "flush" for before in seen[warm_ups:])


def test_work_on_a_side_stream_is_disputed() -> None:
    def call(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
        gpu.work(CALL_US, side=True)
        gpu.work(0.5)
        return arguments[0] * 2

    rules = _rules(_cell(call))
    assert {"T22", "T17", "T03"} <= rules


def test_a_patched_timer_is_disputed() -> None:
    def prepare(gpu: FakeGpu) -> None:
        gpu.elapsed_us = lambda start, stop: (stop[0] - start[0]) / 2  # type: ignore[method-assign]

    cell = _cell(_right, prepare=prepare)
    assert "T22" in _rules(cell)


def test_calls_that_do_nothing_give_wrong_outputs() -> None:
    last: list[Any] = []

    def call(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
        if len(last) % 15 == 0 or len(last) < 10:
            gpu.work(CALL_US)
            last.append(arguments[0] * 2)
        else:
            last.append(last[-1])
        return last[-1]

    assert "T23" in _rules(_cell(call))


class _Exchanging(random.Random):
    """The values change places at every shuffle; of two sets, chance leaves half where they are."""

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x.reverse()


def test_an_answer_that_is_kept_by_address_is_wrong_once_the_values_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timed_process, "_chance", _Exchanging(0))
    known: dict[int, Any] = {}

    def call(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
        gpu.work(CALL_US)
        at = arguments[0].data_ptr()
        known.setdefault(at, arguments[0] * 2)
        return known[at].clone()

    assert "T23" in _rules(_cell(call))


def test_a_call_that_raises_is_said() -> None:
    calls = []

    def call(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
        calls.append(0)
        if len(calls) > 10:
            raise ValueError("no more")
        return _right(gpu, arguments)

    cell = _cell(call)
    assert "ValueError: no more" in cell.processes[0].problem
    assert "T15" in _rules(cell)


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended("ended by SIGSEGV"), "the process ended by SIGSEGV"),
        (Ended("ended by SIGKILL", "had 600 threads, over 512"), "the process had 600 threads, over 512"),
    ],
)
def test_a_process_that_ends_is_said_to_have_ended_and_how(
    monkeypatch: pytest.MonkeyPatch, ended: Ended, said: str
) -> None:
    """On an H200 one was said to have ended "after 0 of 16 bytes"."""

    def gone(*_: object, **__: object) -> Any:
        raise wire.PeerGone("the other side ended after 0 of 16 bytes")

    monkeypatch.setattr(TimedWorker, "ask", gone)
    monkeypatch.setattr(TimedWorker, "close", lambda worker: setattr(worker, "closed", True) or ended)
    assert _cell(_right).processes[0].problem == said


def test_a_launch_that_the_device_waited_for_is_counted() -> None:
    def prepare(gpu: FakeGpu) -> None:
        gpu.starves = True

    cell = _cell(_right, prepare=prepare)
    assert cell.processes[0].starved == len(cell.processes[0].samples_us)
    assert "T18" in _rules(cell)


def test_slow_clocks_are_seen() -> None:
    def prepare(gpu: FakeGpu) -> None:
        gpu.mhz = 1200

    assert "T05" in _rules(_cell(_right, prepare=prepare))


def test_the_verdict_never_holds_a_withheld_number() -> None:
    cell = _cell(_right)
    verdict = judge_timing(cell, GPU)
    assert verdict is not None
    assert verdict.state is State.WITHHELD
    assert "500" not in verdict.model_dump_json()
