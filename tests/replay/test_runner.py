"""One candidate's cells: what one of them does costs that one and no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bundler.model.outcome import Crashed, Failed, Mark, NotRun, Outcome, Passed, Phase, TimedOut, Why
from bundler.replay.process import Ended, SpawnFailed
from bundler.replay.runner import Job, Lost, Session, Unit, lost_when, run_units
from bundler.worker import wire
from tests.replay.fakes import FakeWorker, FakeZygote

GROUND = "interpreter"


def _run(job: Job, zygote: FakeZygote, grounds: tuple[str, ...] = (GROUND,)) -> dict[str, Outcome]:
    """Every case's outcomes, by ``case`` or ``case ground``."""

    def ask(worker: Any, unit: Unit) -> Mapping[str, Outcome]:
        with lost_when(worker, 5):
            header = {"op": "call", "case": unit.case.id, "grounds": unit.grounds}
            worker.ask(header, seconds=5, limits=wire.Limits())
        return dict.fromkeys(unit.grounds, Passed())

    units = [Unit(case, grounds) for case in job.experiment.expand()]
    found: dict[str, Outcome] = {}
    for unit, outcomes in run_units(job, zygote, units, ask, Session()):  # type: ignore[arg-type]
        for ground, outcome in outcomes.items():
            key = unit.case.id if len(grounds) == 1 else f"{unit.case.id} {ground}"
            assert key not in found
            found[key] = outcome
    assert all(worker.closed for worker in zygote.workers)
    return found


def _dies(worker: FakeWorker, detail: str = "ended by SIGSEGV", over: str = "") -> None:
    worker.ended = Ended(detail, over)
    raise wire.PeerGone("the process ended without an answer")


def test_one_process_serves_every_case(job: Job) -> None:
    zygote = FakeZygote(lambda header, worker: {})
    assert _run(job, zygote) == dict.fromkeys(("n=1", "n=2", "n=3"), Passed())
    assert len(zygote.workers) == 1


def test_a_crash_in_the_second_of_three_costs_that_one(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header.get("case") == "n=2":
            _dies(worker)
        return {}

    zygote = FakeZygote(behaviour)
    assert _run(job, zygote) == {"n=1": Passed(), "n=2": Crashed(detail="ended by SIGSEGV"), "n=3": Passed()}
    assert len(zygote.workers) == 3  # the one that died, the second case alone, the third


def test_what_an_earlier_cell_ruined_is_marked_where_it_is_right_alone(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header["op"] == "call" and worker.asked:
            _dies(worker)
        return {}

    alone = Passed(marks=(Mark.RIGHT_ALONE,))
    assert _run(job, FakeZygote(behaviour)) == {"n=1": Passed(), "n=2": alone, "n=3": Passed()}


def test_a_limit_that_was_crossed_is_the_detail(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header["op"] == "call":
            _dies(worker, "ended by SIGKILL", over="used 9 GiB of memory, over 8 GiB")
        return {}

    outcomes = _run(job, FakeZygote(behaviour))
    assert set(outcomes.values()) == {Crashed(detail="used 9 GiB of memory, over 8 GiB")}


@pytest.mark.parametrize("phase", ["load", "call"])
def test_a_process_that_says_that_there_are_none_left_is_ended_first(job: Job, phase: str) -> None:
    """Its own threads may be all that the host starts; whoever asks the host afterwards is told the truth."""
    lacking = Failed(phase=Phase.RUN, error="RuntimeError: can't start new thread", resource="no-process")
    raised = {
        "phase": "run",
        "errors": [["RuntimeError", "can't start new thread"]],
        "resource": "no-process",
    }
    zygote = FakeZygote(lambda header, worker: {"raised": raised} if phase == "load" else {})

    def ask(worker: Any, unit: Unit) -> Mapping[str, Outcome]:
        return {GROUND: lacking}

    units = [Unit(case, (GROUND,)) for case in job.experiment.expand()]
    for _, outcomes in run_units(job, zygote, units, ask, Session()):  # type: ignore[arg-type]
        assert isinstance(outcomes[GROUND], Failed)
        assert all(worker.closed for worker in zygote.workers)


def test_a_case_that_never_ends_is_not_tried_twice(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header.get("case") == "n=2":
            raise wire.DeadlinePassed("no answer in time")
        return {}

    zygote = FakeZygote(behaviour)
    outcomes = _run(job, zygote)
    assert outcomes == {"n=1": Passed(), "n=2": TimedOut(limit_seconds=5), "n=3": Passed()}
    assert len(zygote.workers) == 2
    assert zygote.workers[0].killed


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (wire.WireError("a frame starts with b'HTTP'"), "a frame starts with"),
        (ValueError("4 calls were answered"), "4 calls were answered"),
        (KeyError("calls"), "calls"),
        (TypeError("odd"), "odd"),
    ],
)
def test_a_broken_protocol_is_a_crash(job: Job, error: Exception, says: str) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header["op"] == "call":
            raise error
        return {}

    outcome = _run(job, FakeZygote(behaviour))["n=3"]
    assert isinstance(outcome, Crashed)
    assert says in outcome.detail


RAISED = {"phase": "import", "errors": [["ImportError", "no"]], "resource": None}


def test_an_import_that_raises_is_every_cells_failure(job: Job) -> None:
    zygote = FakeZygote(lambda header, worker: {"raised": RAISED} if header["op"] == "load" else {})
    failed = Failed(phase="import", error="ImportError: no")  # type: ignore[arg-type]
    assert _run(job, zygote) == dict.fromkeys(("n=1", "n=2", "n=3"), failed)
    assert len(zygote.workers) == 1


@pytest.mark.parametrize("ends", ["exits", "hangs", "lies"])
def test_an_import_that_does_not_come_back_is_not_repeated_for_each_cell(job: Job, ends: str) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if ends == "exits":
            _dies(worker, "ended with status 0")
        if ends == "hangs":
            raise wire.DeadlinePassed("no answer in time")
        return {"raised": {"phase": "import", "errors": []}}

    zygote = FakeZygote(behaviour)
    outcomes = _run(job, zygote)
    assert len(set(outcomes.values())) == 1
    assert type(outcomes["n=1"]) is (TimedOut if ends == "hangs" else Crashed)
    assert len(zygote.workers) == 1


def test_a_process_that_cannot_be_started_is_never_the_candidates_fault(job: Job) -> None:
    zygote = FakeZygote(lambda header, worker: {}, refusals=1)
    outcomes = _run(job, zygote)
    assert isinstance(outcomes["n=1"], NotRun)
    assert outcomes["n=1"].why is Why.INFRASTRUCTURE
    assert outcomes["n=2"] == outcomes["n=3"] == Passed()


def test_a_candidate_in_triton_cannot_say_that_its_host_is_unsupported(job: Job) -> None:
    """Its code has run by then, and may have changed what the worker says."""
    said = {"raised": None, "versions": {}, "unsupported": "NVRTC could not be loaded"}
    outcomes = _run(job, FakeZygote(lambda header, worker: said if header["op"] == "load" else {}))
    assert {type(outcome) for outcome in outcomes.values()} == {Crashed}


def test_threads_that_lack_while_a_candidate_is_there_may_be_its_own(job: Job) -> None:
    """It is tried again in a process of its own; what the host says once that has ended is for the pool."""

    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header.get("case") == "n=2":
            raise SpawnFailed("this process could start no thread more")
        return {}

    zygote = FakeZygote(behaviour)
    outcomes = _run(job, zygote)
    assert (outcomes["n=1"], outcomes["n=3"]) == (Passed(), Passed())
    assert isinstance(outcomes["n=2"], Failed)
    assert outcomes["n=2"].resource == "no-process"
    assert len(zygote.workers) == 3


def test_after_a_device_fault_only_the_culprit_is_blamed(job: Job) -> None:
    """The worker answers, and says that its context is lost; the next cell has a fresh process."""
    fault = Failed(phase="run", error="CUDA error: an illegal memory access")  # type: ignore[arg-type]

    def ask(worker: Any, unit: Unit) -> Mapping[str, Outcome]:
        worker.ask({"op": "call"}, seconds=5, limits=wire.Limits())
        if unit.case.id == "n=2":
            raise Lost(fault)
        return {GROUND: Passed()}

    zygote = FakeZygote(lambda header, worker: {})
    units = [Unit(case, (GROUND,)) for case in job.experiment.expand()]
    found = {u.case.id: o[GROUND] for u, o in run_units(job, zygote, units, ask, Session())}  # type: ignore[arg-type]
    assert found == {"n=1": Passed(), "n=2": fault, "n=3": Passed()}


def test_architectures_that_share_a_request_are_told_apart_after_a_crash(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if "compile:sm_80" in header.get("grounds", ()) and header["case"] == "n=2":
            _dies(worker)
        return {}

    outcomes = _run(job, FakeZygote(behaviour), ("compile:sm_80", "compile:sm_90"))
    crashed = {name for name, outcome in outcomes.items() if outcome != Passed()}
    assert crashed == {"n=2 compile:sm_80"}


def test_what_was_printed_and_what_held_are_kept(job: Job) -> None:
    session = Session()
    units = [Unit(job.experiment.expand()[0], (GROUND,))]
    zygote = FakeZygote(lambda header, worker: {})
    list(run_units(job, zygote, units, lambda worker, unit: {GROUND: Passed()}, session))  # type: ignore[arg-type]
    assert session.printed == b"hello"
    assert session.isolation == {"seccomp": "held"}


def test_an_interrupted_run_leaves_no_process(job: Job) -> None:
    zygote = FakeZygote(lambda header, worker: {})
    units = [Unit(case, (GROUND,)) for case in job.experiment.expand()]
    running = run_units(job, zygote, units, lambda worker, unit: {GROUND: Passed()}, Session())  # type: ignore[arg-type]
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert [worker.closed for worker in zygote.workers] == [True]
