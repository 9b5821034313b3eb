"""A harness that fails is told as one, and what candidates return cannot make it seem so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bundler.errors import BadExperiment
from bundler.model.evidence import Evidence
from bundler.model.experiment import Case
from bundler.model.outcome import Outcome, Wrong, kind
from bundler.replay.oracle import Oracle
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from tests import small
from tests.small import HARNESS, ID, Small

pytestmark = pytest.mark.torch
HALF_WRONG = small.RIGHT.replace(b"    return out", b"    out[1:] = 0\n    return out")
"""Wrong in the second case alone."""

DERIVE = b"""
def derive(case, which, arguments, outputs):
    if outputs[0][0] != 2 * arguments[0].values[0]:
        raise ValueError("I did not expect that")
    return outputs[0]
"""


@pytest.fixture
def derived(tmp_path: Path) -> Small:
    small = Small(tmp_path)
    rule = small.declared["returns"][0].pop("compare")
    small.declared["derived"] = [{"name": "same", "compare": rule}]
    reference = b"    right = _reference(case, which, arguments)\n    return right, right\n"
    harness = HARNESS.replace(b"def reference(", b"def _reference(")
    small.put(
        f"proof/{ID}/harness.py",
        harness + b"\n\ndef reference(case, which, arguments):\n" + reference + DERIVE,
    )
    return small


def _cells(evidence: Evidence, name: str) -> list[Outcome]:
    return list(evidence.grounds["interpreter"].cells[name].values())


def _replay(small: Small) -> Evidence:
    return replay(small.load(), Request(device=False, jobs=1), Watch())


def test_what_nothing_can_be_derived_of_is_wrong(derived: Small) -> None:
    """A candidate decides what it returns: were its cell not judged, it could have a wrong one left out."""
    evidence = _replay(derived)
    assert evidence.complete
    assert {kind(o) for o in _cells(evidence, "with-skill/01")} == {"passed"}
    for cell in _cells(evidence, "control-wrong/control-wrong"):
        assert isinstance(cell, Wrong)
        assert (cell.what, cell.call) == ("values", 0)
        assert cell.detail.startswith("nothing is derived of it, as is of the right answer: the harness")
        assert cell.detail.endswith("harness.py:15 in derive: ValueError: I did not expect that")
    assert evidence.grounds["interpreter"].status == "judged"


RIGHT_OR = b"outputs[0] if (outputs[0] == 2 * arguments[0].values).all() else "


@pytest.mark.parametrize(
    "answer",
    [
        b"outputs[0][outputs[0] == 2 * arguments[0].values]",
        pytest.param(RIGHT_OR + b"(outputs[0],) * 40", marks=pytest.mark.slow),
        pytest.param(RIGHT_OR + b"()", marks=pytest.mark.slow),
        pytest.param(RIGHT_OR + b"None", marks=pytest.mark.slow),
        RIGHT_OR + b"exit()",
        RIGHT_OR + b"__import__('os')._exit(3)",
    ],
)
def test_a_candidate_cannot_end_the_replay_by_what_is_derived_of_it(derived: Small, answer: bytes) -> None:
    harness = (derived.folder / "harness.py").read_bytes()
    derived.put(f"proof/{ID}/harness.py", harness.replace(b"    return outputs[0]", b"    return " + answer))
    derived.arm("without-skill")["outputs"] = [
        derived.file("outputs/without-skill/01.md", small.answer(HALF_WRONG))
    ]
    evidence = _replay(derived)
    assert {kind(o) for o in _cells(evidence, "with-skill/01")} == {"passed"}
    assert [kind(o) for o in _cells(evidence, "without-skill/01")] == ["passed", "wrong"]


def test_a_derive_that_raises_over_the_right_answer_is_told_once(
    derived: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was, for each candidate, a cell that was not judged."""
    harness = (derived.folder / "harness.py").read_bytes()
    derived.put(f"proof/{ID}/harness.py", harness.replace(b"outputs[0][0]", b"outputs[1][0]"))
    tries: list[str] = []
    derive = Oracle.derive

    def noted(oracle: Oracle, case: Case, *rest: Any) -> Any:
        tries.append(case.id)
        return derive(oracle, case, *rest)

    monkeypatch.setattr(Oracle, "derive", noted)
    with pytest.raises(BadExperiment, match=r"harness\.py:14 in derive: IndexError: list index") as found:
        _replay(derived)
    assert "mend it" in found.value.hint
    assert tries == ["n=1", "n=1"]  # what a control returned, and the right answer


def test_a_reference_of_another_shape_is_no_candidates_fault(tmp_path: Path) -> None:
    """Each of them was wrong (shape) before."""
    one = Small(tmp_path)
    one.put(f"proof/{ID}/harness.py", HARNESS.rstrip() + b"[:, None]\n")
    with pytest.raises(BadExperiment, match=r"out has shape \(1,\), not \(1, 1\)") as found:
        _replay(one)
    assert "control control-right/control-right, which must pass" in found.value.problem
    assert found.value.exit_code == 3


def test_candidates_of_another_shape_make_no_harness_wrong(tmp_path: Path) -> None:
    """However many agree: only what the author says is right can contradict the author's reference."""
    one = Small(tmp_path)
    other = small.RIGHT.replace(b"return out", b"return out[:, None]")
    for name in ("without-skill", "with-skill"):
        one.arm(name)["outputs"] = [one.file(f"outputs/{name}/01.md", small.answer(other))]
    one.arm("control-wrong")["outputs"] = [one.file("controls/control-wrong.py", other)]
    evidence = _replay(one)
    assert evidence.grounds["interpreter"].status == "judged"
    for name in ("without-skill/01", "with-skill/01", "control-wrong/control-wrong"):
        assert {getattr(o, "what", "") for o in _cells(evidence, name)} == {"shape"}


def test_a_control_counts_against_the_harness_only_where_it_is_declared(tmp_path: Path) -> None:
    one = Small(tmp_path)
    one.arm("control-right")["on"] = ["device"]
    right = one.file("controls/control-right.py", small.RIGHT.replace(b"return out", b"return out[:, None]"))
    one.arm("control-right")["outputs"] = [right]
    assert {kind(o) for o in _cells(_replay(one), "control-right/control-right")} == {"wrong"}


def test_a_ground_on_which_no_case_can_run_is_not_invalid(tmp_path: Path) -> None:
    small = Small(tmp_path)
    for group in small.declared["cases"]:
        group["needs"] = {"min_sm": 89}
    request = Request(device=False, interpreter=False, architectures=(80, 90))
    evidence = replay(small.load(), request, Watch())
    assert evidence.grounds["compile:sm_80"].status == "not-available"
    assert evidence.grounds["compile:sm_80"].reason == "no cell was run: needs sm_89"
    assert evidence.grounds["compile:sm_90"].status != "not-available"
