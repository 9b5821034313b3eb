"""Whose fault it is: the candidate's, the judge's, the host's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bundler.judge.reference import Reference
from bundler.model.experiment import Experiment
from bundler.model.outcome import Crashed, Failed, Mark, NotRun, Outcome, Passed, Why
from bundler.replay import compile as compile_ground
from bundler.replay import device, execute
from bundler.replay.compile import Assembler, KernelClaim, KernelTable
from bundler.replay.oracle import CaseData
from bundler.replay.process import SpawnFailed
from bundler.replay.runner import Job, Lost, Session, Unit, run_units
from bundler.worker import wire
from tests.replay.fakes import FakeWorker, FakeZygote

CLAIM = KernelClaim(sm=90, name="k", num_warps=4, shared_bytes=0, fp_fusion=True, ptx_bytes=3)


class FakeOracle:
    """Two elements, two sets."""

    def case(self, case: Any, *, stand_in: bool = False) -> CaseData:
        spec = {"kind": "tensor", "shape": [2], "storage": 2, "gap": "00000000", "data": [0, 8]}
        references = tuple(Reference((np.array([which, which + 1.0]),)) for which in (0.0, 1.0))
        return CaseData([[spec], [spec]], memoryview(bytes(16)), references)


def _call(which: int) -> tuple[dict[str, Any], bytes]:
    output = {"type": "torch.Tensor", "dtype": "float32", "shape": [2], "strides": [1]}
    output |= {"device": "cuda", "bytes": 8}
    call = {"raised": None, "outputs": [output], "sent": True, "launches": 1, "inputs_changed": False}
    return call, np.array([which, which + 1], dtype="<f4").tobytes()


def _right(header: dict[str, Any]) -> wire.Message:
    calls = [_call(which) for which in header["calls"]]
    claims = {"calls": [call for call, _ in calls], "tuned": {}, "unusable": False}
    return wire.Message(claims, b"".join(data for _, data in calls))


def _outcome(job: Job, zygote: FakeZygote) -> Outcome:
    """One cell on the interpreter ground, asked of a fresh worker."""
    ask = execute.caller(job, FakeOracle(), Session(), zygote, on_device=False)  # type: ignore[arg-type]
    unit = Unit(job.experiment.expand()[0], ("interpreter",))
    try:
        return ask(zygote.spawn(job.allowance), unit)["interpreter"]
    except Lost as lost:
        outcome = lost.decide() if lost.decide else lost.outcome
        return outcome or Crashed(detail="")


def test_a_right_answer(job: Job) -> None:
    assert _outcome(job, FakeZygote(lambda header, worker: _right(header))) == Passed(error=0.0)


def test_an_undefined_load_is_marked(job: Job) -> None:
    source = b"x = tl.load(p, mask=m)"
    marked = Job(job.experiment, job.candidate, source, job.allowance)
    outcome = _outcome(marked, FakeZygote(lambda header, worker: _right(header)))
    assert outcome == Passed(error=0.0, marks=(Mark.UNDEFINED_LOAD,))


@pytest.mark.parametrize(
    ("fits", "expected"),
    [
        (None, Failed),  # a process without the candidate has room: it was the candidate that took it
        ("CUDA out of memory", NotRun),
    ],
)
def test_whose_memory_it_is(job: Job, fits: str | None, expected: type) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        if header["op"] == "load":
            return {}
        if header["op"] == "fit":
            assert zygote.workers[0].closed  # what it held is free before another asks
            return {"no_memory": fits}
        return {"no_memory": "no room, believe me"}

    zygote = FakeZygote(behaviour)
    ask = execute.caller(job, FakeOracle(), Session(), zygote, on_device=False)  # type: ignore[arg-type]
    units = [Unit(job.experiment.expand()[0], ("interpreter",))]
    ((_, outcomes),) = run_units(job, zygote, units, ask, Session())  # type: ignore[arg-type]
    outcome = outcomes["interpreter"]
    assert type(outcome) is expected
    if isinstance(outcome, Failed):
        assert outcome.resource == "out-of-memory"
    else:
        assert getattr(outcome, "why", None) is Why.NO_MEMORY


def test_where_that_cannot_be_told_it_is_infrastructure(job: Job) -> None:
    zygote = FakeZygote(lambda header, worker: {"no_memory": "no room"})
    ask = execute.caller(job, FakeOracle(), Session(), zygote, on_device=False)  # type: ignore[arg-type]
    worker = zygote.spawn(job.allowance)
    zygote.refusals = 1
    with pytest.raises(Lost) as lost:
        ask(worker, Unit(job.experiment.expand()[0], ("interpreter",)))
    assert lost.value.decide
    outcome = lost.value.decide()
    assert isinstance(outcome, NotRun)
    assert outcome.why is Why.INFRASTRUCTURE


def test_the_judges_own_want_of_memory_is_no_failure(job: Job) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        raise MemoryError

    outcome = _outcome(job, FakeZygote(behaviour))
    assert isinstance(outcome, NotRun)
    assert outcome.why is Why.NO_MEMORY


def test_a_lost_context_loses_the_worker_and_keeps_the_outcome(job: Job) -> None:
    raised = {"phase": "run", "errors": [["RuntimeError", "illegal"]], "resource": None}
    claim = {"calls": [{"raised": raised}], "tuned": {}, "unusable": True}
    assert isinstance(_outcome(job, FakeZygote(lambda header, worker: claim)), Failed)


# --- the assembler ---------------------------------------------------------------------------------


def _assembled(error: str | None = None) -> dict[str, Any]:
    return {"error": error, "registers": 32, "spill_bytes": 8}


def test_what_was_assembled_once_is_remembered() -> None:
    zygote = FakeZygote(lambda header, worker: _assembled())
    assembler = Assembler(zygote)  # type: ignore[arg-type]
    assert assembler.assemble(b"ptx", CLAIM) == ("", 32, 8)
    assert assembler.assemble(b"ptx", CLAIM) == ("", 32, 8)
    assembler.close()
    assert len(zygote.workers[0].asked) == 1
    assert zygote.workers[0].closed


def test_ptx_that_kills_the_assembler_is_the_candidates_failure() -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> dict[str, Any]:
        raise wire.PeerGone("the process ended without an answer")

    zygote = FakeZygote(behaviour)
    error, _, _ = Assembler(zygote).assemble(b"ptx", CLAIM)  # type: ignore[arg-type]
    assert error.startswith("ptxas gave no answer")
    assert zygote.workers[0].closed


def test_an_assembler_that_cannot_be_started_is_nobodys_failure() -> None:
    zygote = FakeZygote(lambda header, worker: _assembled(), refusals=1)
    assembler = Assembler(zygote)  # type: ignore[arg-type]
    with pytest.raises(SpawnFailed):
        assembler.assemble(b"ptx", CLAIM)
    assert assembler.assemble(b"ptx", CLAIM) == ("", 32, 8)


def test_kernels_that_were_not_sent_are_refused(job: Job) -> None:
    answer = {"architectures": [{"sm": 90, "raised": None, "kernels": [5]}], "kernels": []}
    zygote = FakeZygote(lambda header, worker: answer)
    ask = compile_ground.compiler(job, FakeOracle(), Assembler(zygote), KernelTable())  # type: ignore[arg-type]
    with pytest.raises(Lost) as lost:
        ask(zygote.spawn(job.allowance), Unit(job.experiment.expand()[0], ("compile:sm_90",)))
    assert "kernel 5 was not sent" in str(lost.value.outcome)


@pytest.mark.parametrize(("refusals", "expected"), [(1, Passed), (2, NotRun)])
def test_where_nothing_assembles_it_is_tried_once_the_candidate_has_ended(
    job: Job, refusals: int, expected: type
) -> None:
    """It may have had all the processes; what it sent is judged without it."""
    kernel = CLAIM.model_dump()
    answer = wire.Message(
        {"architectures": [{"sm": 90, "raised": None, "kernels": [0]}], "kernels": [kernel]}, b"ptx"
    )
    zygote = FakeZygote(lambda header, worker: {} if header["op"] == "load" else answer)
    assembling = FakeZygote(lambda header, worker: _assembled(), refusals=refusals)
    ask = compile_ground.compiler(job, FakeOracle(), Assembler(assembling), KernelTable())  # type: ignore[arg-type]
    units = [Unit(job.experiment.expand()[0], ("compile:sm_90",))]
    ((_, outcomes),) = run_units(job, zygote, units, ask, Session())  # type: ignore[arg-type]
    assert isinstance(outcomes["compile:sm_90"], expected)
    assert zygote.workers[0].closed


def test_equal_kernels_are_one() -> None:
    table = KernelTable()
    kernel: Any = "kernel"
    assert [table.add(kernel), table.add("other"), table.add(kernel)] == [0, 1, 0]  # type: ignore[arg-type]


# --- the device ------------------------------------------------------------------------------------

H200 = {"name": "NVIDIA H200", "sm": 90, "free_bytes": 10 << 30, "total_bytes": 141 << 30}


def _probe(
    answer: dict[str, Any], assembler: dict[str, Any] | None = None, refusals: int = 0
) -> device.Device:
    zygote = FakeZygote(lambda header, worker: answer, refusals=refusals)
    return device.probe(zygote, Assembler(FakeZygote(lambda h, w: assembler or _assembled())))  # type: ignore[arg-type]


def test_a_device() -> None:
    assert _probe(H200) == device.Device.model_validate(H200)


def test_no_device() -> None:
    assert _probe({"why_not": "torch sees no device"}).why_not == "torch sees no device"


def test_a_device_that_answers_out_of_form() -> None:
    assert "could not be asked" in _probe(H200 | {"sm": "ninety"}).why_not


def test_a_host_that_is_too_new_for_the_bundled_ptxas() -> None:
    found = _probe(H200 | {"sm": 130}, _assembled("ptxas fatal: Value 'sm_130' is not defined"))
    assert found.why_not.startswith("host unsupported by this bundle: ptxas fatal")


def test_what_a_case_needs(experiment: Experiment) -> None:
    here = device.Device.model_validate(H200)
    case = experiment.expand()[0]
    assert device.lacks(case, here) is None
    large = case.model_copy(update={"needs": case.needs.model_copy(update={"device_memory_gib": 40})})
    newer = case.model_copy(update={"needs": case.needs.model_copy(update={"min_sm": 100})})
    assert "40 GiB" in device.lacks(large, here).detail  # type: ignore[union-attr]
    assert device.lacks(newer, here).why is Why.NEEDS  # type: ignore[union-attr]
    assert device.too_old(newer, 90) is not None
    assert device.too_old(newer, 100) is None
