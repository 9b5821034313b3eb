"""How many candidates run side by side on a device, and whose outcome crowding may explain."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundler.errors import BadExperiment, UnavailableError
from bundler.model.outcome import Crashed, Failed, NotRun, Outcome, Passed, Phase, TimedOut, Why, kind
from bundler.replay import pool
from bundler.replay.device import Device
from bundler.replay.drive import Answers, Work, drive
from bundler.replay.pool import crowded_out, device_jobs, run_all
from bundler.replay.process import Refused
from bundler.replay.record import Record
from bundler.replay.request import Request, Watch
from bundler.replay.runner import Job, Session, Unit
from tests.cuda.toy import Toy
from tests.small import Small

GIB = 1 << 30


@pytest.mark.parametrize(
    ("gib", "processors", "jobs"),
    [(140, 16, 4), (140, 64, 4), (4, 16, 1), (80, 16, 2), (140, 2, 1), (0, 1, 1)],
)
def test_a_candidate_on_the_device_takes_processors_and_memory(gib: int, processors: int, jobs: int) -> None:
    assert device_jobs(Device(name="x", sm=90, total_bytes=gib * GIB), processors) == jobs


MAY_BE = [
    TimedOut(limit_seconds=1),
    Crashed(detail="SIGKILL"),
    Failed(phase=Phase.RUN, error="CUDA out of memory", resource="out-of-memory"),
    Failed(phase=Phase.COMPILE, error="BlockingIOError", resource="no-process"),
    NotRun(why=Why.NO_MEMORY),
    Refused(),
]
CANNOT_BE = [
    Passed(),
    Failed(phase=Phase.RUN, error="x"),
    NotRun(why=Why.NEEDS),
    NotRun(why=Why.INFRASTRUCTURE, detail="the harness raised"),
]


@pytest.mark.parametrize(
    ("outcome", "said"), [*((o, True) for o in MAY_BE), *((o, False) for o in CANNOT_BE)]
)
def test_what_may_be_crowding(outcome: Outcome, said: bool) -> None:
    assert crowded_out({"device": outcome}) is said


def test_a_task_that_fails_stops_the_others() -> None:
    stop, killed = threading.Event(), []

    def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_all([fails, lambda: stop.wait(20) and None], 2, stop, lambda: killed.append(1))
    assert stop.is_set()
    assert not killed


class Panic(BaseException):
    """As pyo3's PanicException: no ``Exception``."""


@pytest.mark.parametrize("error", [MemoryError(), Panic("PyObject pointer is null")])
def test_a_judge_that_breaks_ends_the_replay_and_waits_for_nothing(error: BaseException) -> None:
    stop, gone = threading.Event(), threading.Event()

    def breaks() -> None:
        raise error

    with pytest.raises(UnavailableError, match=r"the judge's own process failed: (MemoryError|PyObject)"):
        run_all([breaks, lambda: gone.wait(20) and None], 2, stop, gone.set)
    assert stop.is_set()
    assert gone.is_set()


def test_a_process_that_may_have_no_threads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(UnavailableError, match=r"2 candidates at a time .* can't start new thread"):
        run_all([lambda: None], 2, threading.Event(), lambda: None)


def test_ctrl_c_ends_what_the_tasks_wait_for() -> None:
    stop, gone = threading.Event(), threading.Event()

    def interrupted() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all([interrupted, lambda: gone.wait(20) and None], 2, stop, gone.set)
    assert stop.is_set()


def _driven(
    small: Small | Toy, run: Callable[[Job, Session, list[Unit]], Answers], jobs: int
) -> dict[str, dict[str, Outcome]]:
    """The device's cells, once ``run`` has had every candidate."""
    record = Record(small.load(), Request(device=True, interpreter=False), Watch())
    units = [Unit(case, ("device",)) for case in record.cases]
    drive(record, Work(("device",), lambda _: units, run, (), lambda: None), jobs)
    return record.cells.snapshot()["device"]


def test_a_cell_that_crowding_may_explain_is_tried_again_alone(small: Small) -> None:
    """On the device two at a time: the second try, with nothing beside it, is what counts."""
    tries: list[str] = []

    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        for unit in its:
            name = f"{job.candidate.id} on {unit.case.id}"
            out: Outcome = Passed() if name in tries or unit.case.id == "n=1" else TimedOut(limit_seconds=1)
            tries.append(name)
            yield unit, {"device": out}

    cells = _driven(small, run, jobs=2)
    assert {kind(outcome) for row in cells.values() for outcome in row.values()} == {"passed"}
    assert sorted(tries) == sorted([f"{c} on n=1" for c in cells] + [f"{c} on n=100" for c in cells] * 2)


def test_alone_the_first_try_counts(small: Small) -> None:
    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        yield from ((unit, {"device": TimedOut(limit_seconds=1)}) for unit in its)

    cells = _driven(small, run, jobs=1)
    assert {kind(outcome) for row in cells.values() for outcome in row.values()} == {"timed-out"}


LACKING = Failed(phase=Phase.COMPILE, error="BlockingIOError: [Errno 11] ptxas", resource="no-process")


@pytest.mark.parametrize("lacking", [LACKING, Refused(detail="no process")])
def test_what_lacked_a_process_is_tried_again_even_alone(small: Small, lacking: Outcome) -> None:
    """Others of the same user had them all, or another candidate, and have ended since."""
    tries: list[str] = []

    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        for unit in its:
            name = f"{job.candidate.id} on {unit.case.id}"
            yield unit, {"device": Passed() if name in tries else lacking}
            tries.append(name)

    cells = _driven(small, run, jobs=1)
    assert {kind(outcome) for row in cells.values() for outcome in row.values()} == {"passed"}


def test_evidence_has_what_was_refused_twice_as_any_cell_that_was_not_run(small: Small) -> None:
    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        yield from ((unit, {"device": Refused(detail="no process")}) for unit in its)

    cells = _driven(small, run, jobs=1)
    found = [outcome for row in cells.values() for outcome in row.values()]
    assert found == [NotRun(why=Why.INFRASTRUCTURE, detail="no process")] * len(found)
    assert {type(outcome) for outcome in found} == {NotRun}


def test_the_source_is_tried_again_before_what_is_held_against_it(tmp_path: Path) -> None:
    toy, tries = Toy(tmp_path), []
    toy.add_source()

    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        tries.append(job.candidate.arm.name)
        yield from ((unit, {"device": LACKING if tries == ["source"] else Passed()}) for unit in its)

    _driven(toy, run, jobs=2)
    assert tries[:2] == ["source", "source"]
    assert "source" not in tries[2:]
    assert len(tries) > 2


def test_controls_run_first_so_that_a_replay_cut_short_can_be_judged(small: Small) -> None:
    """In the order of the experiment they come last, and so they stay in the evidence."""
    ran: list[str] = []

    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        ran.append(job.candidate.id)
        session.tuned = {"a": "b"}
        session.printed = b"x"
        yield from ((unit, {"device": Passed()}) for unit in its)

    record = Record(small.load(), Request(device=True, interpreter=False), Watch())
    units = [Unit(case, ("device",)) for case in record.cases]
    drive(record, Work(("device",), lambda _: units, run, (), lambda: None), 1)
    names = [candidate.id for candidate in record.candidates]
    assert ran == [*names[2:], *names[:2]]
    assert [name for name in ran[:2] if name.startswith("control-")] == ran[:2]
    report = record.evidence(complete=True).grounds["device"]
    assert list(report.cells) == list(report.tuned) == list(report.printed) == names


@pytest.mark.parametrize(("left", "said"), [(True, "failed (compile)"), (False, "not-run")])
def test_a_host_without_processes_fails_no_candidate(
    small: Small, monkeypatch: pytest.MonkeyPatch, left: bool, said: str
) -> None:
    """A worker can claim so; where this process can start threads it is not believed."""
    monkeypatch.setattr(pool, "_can_start_threads", lambda: left)

    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        yield from ((unit, {"device": LACKING}) for unit in its)

    cells = _driven(small, run, jobs=1)
    found = [outcome for row in cells.values() for outcome in row.values()]
    assert {kind(outcome) for outcome in found} == {said}
    if not left:
        assert {(o.why, "no more processes" in o.detail) for o in found if isinstance(o, NotRun)} == {
            (Why.INFRASTRUCTURE, True)
        }


def test_whether_there_are_processes_left_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool._can_start_threads()

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert not pool._can_start_threads()


def test_after_one_that_failed_no_other_begins() -> None:
    """It began before the failure was noticed, and a harness that fails was asked once more."""
    begun: list[int] = []

    def fails() -> None:
        raise BadExperiment("it fails", hint="")

    for _ in range(50):
        with pytest.raises(BadExperiment, match="it fails"):
            run_all([fails, lambda: begun.append(1)], 1, threading.Event(), lambda: None)
    assert begun == []
