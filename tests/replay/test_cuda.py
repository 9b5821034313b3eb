"""Candidates in CUDA C++ through a whole replay: compiled here, launched where there is a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundler.digest import Digest
from bundler.errors import BadExperiment
from bundler.experiment.controls import misbehaviour
from bundler.judge.claims import CellClaim
from bundler.judge.launch import Shape
from bundler.judge.reference import Reference
from bundler.judge.source_kernel import SourceOutputs
from bundler.model.evidence import Evidence, Kernel
from bundler.model.experiment import Candidate, Case, Ground
from bundler.model.outcome import Crashed, Failed, NotRun, Outcome, Passed, Phase, TimedOut, Why, Wrong, kind
from bundler.replay.allowance import Allowance
from bundler.replay.compile import KernelTable
from bundler.replay.cuda_compile import launched, run_cuda_units
from bundler.replay.oracle import CaseData
from bundler.replay.process import Refused
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from bundler.replay.runner import Job, Session, Unit
from bundler.worker import wire
from tests.cuda.toy import CUDA, DYNAMIC, HALF, RIGHT, Toy
from tests.replay.fakes import FakeWorker, FakeZygote
from tests.small import RIGHT as TRITON

KERNEL = Kernel(
    name="saxpy", ptx=Digest.of(b"p"), cubin=Digest.of(b"c"), num_warps=0, shared_bytes=512, registers=20,
    spill_bytes=0,
)  # fmt: skip


def _replayed(toy: Toy, **request: Any) -> Evidence:
    settings = {"device": False, "interpreter": False} | request
    return replay(toy.load(), Request(**settings), Watch())


def _cells(evidence: Evidence, ground: str, candidate: str) -> list[Outcome]:
    return list(evidence.grounds[ground].cells[f"{candidate}/{candidate}"].values())


# --- with NVRTC ------------------------------------------------------------------------------------


@pytest.mark.torch
def test_the_compile_grounds(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    missing = b"#include <nowhere.h>\n" + RIGHT
    toy = Toy(tmp_path, {"half": HALF, "missing": missing})
    evidence = _replayed(toy, interpreter=True, architectures=(75, 120))
    assert [evidence.grounds[f"compile:sm_{sm}"].status for sm in (75, 120)] == ["judged"] * 2
    assert evidence.grounds["compile:sm_75"].isolation["seccomp"] == "held"
    for name in ("right", "half", "wrong"):
        outcomes = _cells(evidence, "compile:sm_120", name)
        assert {kind(outcome) for outcome in outcomes} == {"passed"}
        assert len({outcome.kernels for outcome in outcomes if isinstance(outcome, Passed)}) == 1
    (first, *_) = _cells(evidence, "compile:sm_75", "missing")
    assert isinstance(first, Failed)
    assert (first.phase, "nowhere.h" in first.error) == (Phase.COMPILE, True)
    assert all(kernel.cubin and kernel.num_warps == 8 for kernel in evidence.kernels)
    report = evidence.grounds["interpreter"]
    assert (report.status, report.reason) == ("not-available", "Triton's interpreter runs no CUDA C++")
    assert {
        outcome.why for outcome in _cells(evidence, "interpreter", "right") if isinstance(outcome, NotRun)
    }


def _both(folder: Path) -> Toy:
    """With an arm in Triton beside those in CUDA C++."""
    toy = Toy(folder)
    port = {"name": "port", "origin": "reconstructed", "language": "triton"}
    source = TRITON.replace(b"double", b"saxpy").replace(b"x.numel()", b"x.shape[0]")
    toy.declared["arms"].append(port | {"outputs": [toy.file("made/port.py", source)]})
    return toy


@pytest.mark.slow
@pytest.mark.torch
def test_both_languages_in_one_experiment(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    evidence = _replayed(_both(tmp_path), interpreter=True, architectures=(90,))
    assert {kind(outcome) for outcome in _cells(evidence, "compile:sm_90", "port")} == {"passed"}
    assert {kind(outcome) for outcome in _cells(evidence, "compile:sm_90", "right")} == {"passed"}
    cubins = {bool(kernel.cubin) for kernel in evidence.kernels}
    assert cubins == {True, False}
    report = evidence.grounds["interpreter"]
    assert report.status == "not-available"
    assert report.reason.startswith("no cell was run: ")
    assert {kind(outcome) for outcome in report.cells["right/right"].values()} == {"not-run"}


# --- without ---------------------------------------------------------------------------------------


class FakeOracle:
    def case(self, case: Case, *, stand_in: bool = False) -> CaseData:
        spec = {"kind": "tensor", "shape": [4, 2], "strides": [2, 1]}
        return CaseData([[spec]], memoryview(b""), ())


def _made(header: dict[str, Any], worker: FakeWorker) -> wire.Message:
    if header["op"] == "load":
        return wire.Message({"raised": None})
    code = {"ptx_bytes": 3, "registers": 20, "static_shared_bytes": 512, "spill_bytes": 0}
    return wire.Message(code, b"ptxcubin")


def _run(toy: Toy, zygote: FakeZygote, grounds: tuple[str, ...]) -> dict[str, dict[str, Outcome]]:
    loaded = toy.load()
    (candidate, *_) = loaded.experiment.candidates()
    job = Job(loaded.experiment, candidate, loaded.sources[candidate.id], Allowance(memory_bytes=1 << 30))
    units = [Unit(case, grounds) for case in loaded.experiment.expand()]
    answers = run_cuda_units(
        job, zygote, units, FakeOracle(), KernelTable(), Session()  # type: ignore[arg-type]
    )  # fmt: skip
    return {unit.case.id: dict(outcomes) for unit, outcomes in answers}


GROUNDS = ("compile:sm_75", "compile:sm_90")


def test_an_architecture_is_compiled_once_for_all_cases(tmp_path: Path) -> None:
    zygote = FakeZygote(_made)
    answers = _run(Toy(tmp_path), zygote, GROUNDS)
    assert len(answers) == 4
    assert {kind(outcome) for row in answers.values() for outcome in row.values()} == {"passed"}
    assert [len(worker.asked) for worker in zygote.workers] == [2]


def test_an_input_that_the_harness_does_not_give_is_said_before_anything_is_compiled(tmp_path: Path) -> None:
    toy, zygote = Toy(tmp_path), FakeZygote(_made)
    (_, *others) = CUDA["arguments"]  # type: ignore[misc]
    toy.declared["cuda"] = CUDA | {"arguments": [{"name": "x", "input": 7}, *others]}
    with pytest.raises(BadExperiment, match=r"argument 'x' is input 7, .* the harness gives 1 tensor,"):
        _run(toy, zygote, GROUNDS)
    assert zygote.workers == []


def test_a_source_that_takes_too_long_costs_one_limit_an_architecture(tmp_path: Path) -> None:
    def slow(header: dict[str, Any], worker: FakeWorker) -> wire.Message:
        if header["op"] == "compile":
            raise wire.DeadlinePassed
        return _made(header, worker)

    zygote = FakeZygote(slow)
    answers = _run(Toy(tmp_path), zygote, GROUNDS)
    assert {type(outcome) for row in answers.values() for outcome in row.values()} == {TimedOut}
    assert len(zygote.workers) == 2


def test_one_architecture_that_ends_the_process_costs_no_other(tmp_path: Path) -> None:
    def dies(header: dict[str, Any], worker: FakeWorker) -> wire.Message:
        if header.get("sm") == 75:
            raise wire.PeerGone
        return _made(header, worker)

    answers = _run(Toy(tmp_path), FakeZygote(dies), GROUNDS)
    for row in answers.values():
        assert isinstance(row["compile:sm_75"], Crashed)
        assert isinstance(row["compile:sm_90"], Passed)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (wire.Message({"unsupported": "NVRTC 12.6 compiles for no sm_120"}), NotRun),
        (wire.Message({"raised": {"phase": "compile", "errors": [["NVRTC", "no"]]}}), Failed),
        (wire.Message({"ptx_bytes": 9}, b"ptx"), Crashed),
        (wire.Message({"ptx_bytes": 3}, b"ptx"), Crashed),
        (wire.Message({"ptx_bytes": -3}, b"ptx"), Crashed),
        (wire.Message({"surprise": 1}), Crashed),
    ],
)
def test_what_a_worker_may_answer(tmp_path: Path, answer: wire.Message, expected: type) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> wire.Message:
        return wire.Message({"raised": None}) if header["op"] == "load" else answer

    answers = _run(Toy(tmp_path), FakeZygote(behaviour), ("compile:sm_90",))
    assert {type(row["compile:sm_90"]) for row in answers.values()} == {expected}


@pytest.mark.parametrize(
    ("without_it", "expected"),
    [("", Crashed), ("NVRTC 12.6 compiles for no sm_90", NotRun), ("no answer", Refused)],
)
@pytest.mark.parametrize("at", ["load", "compile"])
def test_that_a_host_does_not_support_it_is_asked_of_a_process_without_it(
    tmp_path: Path, at: str, without_it: str, expected: type
) -> None:
    def behaviour(header: dict[str, Any], worker: FakeWorker) -> wire.Message:
        if header["op"] == "supports":
            assert worker.number > 0
            if without_it == "no answer":
                raise wire.PeerGone
            return wire.Message({"unsupported": without_it})
        if header["op"] == at:
            return wire.Message({"raised": None, "unsupported": "believe me"})
        return _made(header, worker)

    zygote = FakeZygote(behaviour)
    answers = _run(Toy(tmp_path), zygote, ("compile:sm_90",))
    assert {type(row["compile:sm_90"]) for row in answers.values()} == {expected}
    assert all(worker.closed for worker in zygote.workers)


@pytest.mark.parametrize(("sm", "most"), [(75, 64), (90, 227), (120, 99)])
def test_shared_memory_beyond_the_architecture(sm: int, most: int) -> None:
    table = KernelTable()
    fits = Shape((1, 1, 1), (64, 1, 1), (most << 10) - 512)
    assert isinstance(launched(KERNEL, fits, f"compile:sm_{sm}", table), Passed)
    assert (table.kernels[0].num_warps, table.kernels[0].shared_bytes) == (2, most << 10)
    over = Shape((1, 1, 1), (64, 1, 1), (most << 10) - 511)
    failed = launched(KERNEL, over, f"compile:sm_{sm}", table)
    assert isinstance(failed, Failed)
    assert (failed.phase, failed.resource) == (Phase.LAUNCH, "out-of-resources")


def test_a_source_arm_is_a_control(tmp_path: Path) -> None:
    toy = Toy(tmp_path)
    toy.add_source()
    loaded = toy.load()
    source = loaded.experiment.candidates()[-1]
    assert loaded.sources[source.id] == RIGHT
    cells = {c.id: {"x": _expected(c)} for c in loaded.experiment.candidates()}
    assert misbehaviour(loaded.experiment, Ground.DEVICE, cells) == ""
    cells[source.id] = {"x": Failed(phase=Phase.RUN, error="")}
    assert (
        misbehaviour(loaded.experiment, Ground.DEVICE, cells)
        == f"control {source.id} must pass and did not on x"
    )
    assert misbehaviour(loaded.experiment, Ground.INTERPRETER, {}) == ""


def _expected(candidate: Candidate) -> Outcome:
    return Passed() if candidate.arm.expect == "pass" else Failed(phase=Phase.RUN, error="")


def _claim(*arrays: Any) -> tuple[CellClaim, memoryview]:
    parts = [np.asarray(array, "<f4").tobytes() for array in arrays]
    calls = [
        {
            "raised": None,
            "sent": True,
            "launches": 1,
            "outputs": [{"type": "torch.Tensor", "bytes": len(part)}],
        }
        for part in parts
    ]
    return CellClaim.model_validate({"calls": calls}), memoryview(b"".join(parts))


def test_ports_are_held_against_the_source(tmp_path: Path) -> None:
    experiment = Toy(tmp_path).load().experiment
    (case, other, *_) = experiment.expand()
    outputs = SourceOutputs()
    plan = (0, 1, 0)
    claim, payload = _claim([1, 2], [3, 4], [9, 9])
    outputs.keep(case, Passed(), plan, claim, payload)
    references = (Reference((np.zeros(2),)),) * 2

    def held(outcome: Outcome, *arrays: Any, at: Case = case) -> Any:
        claim, payload = _claim(*arrays)
        return outputs.held(experiment, at, outcome, plan, claim, payload, references)

    wrong = Wrong(what="values", call=0, detail="")
    assert held(Passed(), [1, 2], [3, 4], [0, 0]).differs_from_source == 0
    assert held(wrong, [1, 2.5], [3.5, 4], [0, 0]).differs_from_source == 2
    assert held(Passed(), [1, 2], [3, 4], [0, 0], at=other).differs_from_source is None
    assert held(Passed(), [1], [3], [0]).differs_from_source is None
    failed = Failed(phase=Phase.RUN, error="")
    assert held(failed, [1, 2], [3, 4], [0, 0]) is failed
    outputs.keep(other, wrong, plan, claim, payload)
    assert held(Passed(), [1, 2], [3, 4], [0, 0], at=other).differs_from_source is None


# --- on a GPU --------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.torch
def test_on_the_device(tmp_path: Path) -> None:
    beyond = RIGHT.replace(b"y[i] =", b"y[i + 1] =")
    far = RIGHT.replace(b"y[i] =", b"y[i + (1LL << 40)] =")
    toy = Toy(tmp_path, {"half": HALF, "beyond": beyond, "far": far, "dynamic": DYNAMIC})
    toy.add_source()
    evidence = _replayed(toy, device=True)
    assert evidence.grounds["device"].status == "judged", evidence.grounds["device"].reason
    for name in ("right", "half"):
        assert {kind(outcome) for outcome in _cells(evidence, "device", name)} == {"passed"}
        assert {getattr(o, "differs_from_source", 1) for o in _cells(evidence, "device", name)} == {0}
    assert {kind(outcome) for outcome in _cells(evidence, "device", "uncompilable")} == {"failed (compile)"}
    assert {kind(outcome) for outcome in _cells(evidence, "device", "far")} == {"failed (run)"}
    for outcome in _cells(evidence, "device", "beyond"):
        assert isinstance(outcome, Failed)
        assert "WroteOutside" in outcome.error


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize(("size", "expected"), [(64 << 10, "passed"), (1 << 20, "failed (launch)")])
def test_dynamic_shared_memory_on_the_device(tmp_path: Path, size: int, expected: str) -> None:
    toy = Toy(tmp_path, {"dynamic": DYNAMIC})
    toy.declared["cuda"] = CUDA | {"shared_bytes": size}
    evidence = _replayed(toy, device=True, candidates=("dynamic/dynamic",))
    assert {kind(outcome) for outcome in _cells(evidence, "device", "dynamic")} == {expected}


def _without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    from bundler.replay import grounds_compiled
    from bundler.replay.zygote import Zygote, ZygoteFailed

    class Refusing(Zygote):
        def __init__(self, flavour: str, **options: Any) -> None:
            if flavour == "nvrtc":
                raise ZygoteFailed("ModuleNotFoundError: No module named 'cuda'")
            super().__init__(flavour, **options)

    monkeypatch.setattr(grounds_compiled, "Zygote", Refusing)


@pytest.mark.torch
def test_without_nvrtc_the_others_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_nvrtc(monkeypatch)
    evidence = _replayed(_both(tmp_path), architectures=(90,))
    assert {kind(outcome) for outcome in _cells(evidence, "compile:sm_90", "port")} == {"passed"}
    assert {kind(outcome) for outcome in _cells(evidence, "compile:sm_90", "right")} == {"not-run"}


def test_an_nvrtc_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_nvrtc(monkeypatch)
    report = _replayed(Toy(tmp_path), architectures=(90,)).grounds["compile:sm_90"]
    assert report.status == "not-available"
    assert "No module named 'cuda'" in report.reason
    assert {cell.why for cell in report.cells["right/right"].values() if isinstance(cell, NotRun)} == {
        Why.UNSUPPORTED_HOST
    }
