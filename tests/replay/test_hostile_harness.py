"""A harness that answers out of form is said to, and no candidate is blamed for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.errors import BadExperiment
from bundler.model.experiment import Case
from bundler.replay import oracle as oracle_module
from bundler.replay.answers import OutOfForm, read
from bundler.replay.harness_answers import HarnessAnswer
from bundler.replay.oracle import Oracle
from bundler.replay.zygote import start
from tests.small import HARNESS, ID, Small

TENSOR = {
    "kind": "tensor", "dtype": "float32", "shape": [2, 3], "strides": [3, 1], "offset": 0, "storage": 6,
    "gap": "7f7fffff", "data": [0, 24],
}  # fmt: skip
POINTS = {name: value for name, value in TENSOR.items() if name != "data"} | {"points": [[5, "0000803f"]]}
ARRAY = {"dtype": "float64", "shape": [2], "data": [0, 16]}


def _arguments(*sets: list[object]) -> object:
    answer = read(HarnessAnswer, {"raised": None, "sets": sets})
    return answer.arguments(len(sets), memoryview(bytes(24)))


@pytest.mark.parametrize(
    "argument",
    [
        TENSOR,
        POINTS,
        TENSOR | {"shape": [0, 3], "storage": 0, "data": [0, 0]},
        {"kind": "float", "value": "0x1.8p+1"},
        {"kind": "float", "value": "nan"},
        {"kind": "value", "value": None},
        {"kind": "value", "value": True},
        {"kind": "value", "value": "mean"},
    ],
)
def test_arguments_are_what_they_were(argument: dict[str, object]) -> None:
    assert _arguments([argument]) == [[argument]]


@pytest.mark.parametrize(
    "argument",
    [
        {},
        7,
        {"kind": "tensor"},
        {"kind": "tensor", "shape": [10**30]},
        TENSOR | {"surprise": 1},
        TENSOR | {"dtype": "x"},
        TENSOR | {"shape": [-2, 3]},
        TENSOR | {"strides": [1]},
        TENSOR | {"storage": 5},
        TENSOR | {"offset": 1},
        TENSOR | {"gap": "zz"},
        TENSOR | {"gap": "00"},
        TENSOR | {"data": [0, 23]},
        TENSOR | {"data": [-24, 24]},
        TENSOR | {"data": [1, 24]},
        TENSOR | {"points": []},
        POINTS | {"points": [[6, "0000803f"]]},
        POINTS | {"points": [[0, "00"]]},
        {"kind": "float", "value": "0x1p5000"},
        {"kind": "float", "value": "many"},
        {"kind": "value", "value": [1]},
        {"kind": "value", "value": 1 << 70},
    ],
)
def test_an_argument_out_of_form(argument: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        _arguments([argument])


@pytest.mark.parametrize(
    "second",
    [
        [TENSOR],
        [TENSOR | {"shape": [3, 2], "strides": [2, 1]}, {"kind": "value", "value": 1}],
        [TENSOR, {"kind": "value", "value": 2}],
        [TENSOR, {"kind": "value", "value": True}],
    ],
)
def test_the_sets_of_a_case_share_a_form(second: list[object]) -> None:
    with pytest.raises(ValueError, match="the inputs of set 1 have another form than those of set 0"):
        _arguments([TENSOR, {"kind": "value", "value": 1}], second)


@pytest.mark.parametrize(
    ("references", "says"),
    [
        ([], "0 sets of arrays, not 1"),
        ([[]], "reference of set 0 is 0 arrays, not 1: out"),
        ([[ARRAY, ARRAY]], "reference of set 0 is 2 arrays, not 1: out"),
        ([[ARRAY | {"data": [8, 16]}]], "cannot reshape"),
        ([[ARRAY | {"shape": [3]}]], "cannot reshape"),
        ([[ARRAY | {"scale": [0, 8]}]], "cannot reshape"),
        ([[ARRAY | {"shape": [-1]}]], "greater than or equal to 0"),
        ([[ARRAY | {"data": [-16, 16]}]], "greater than or equal to 0"),
        ([[{}] * 40_000], "Field required"),
    ],
)
def test_references_out_of_form(references: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(HarnessAnswer, {"raised": None, "references": references}).arrays(
            "reference", 1, ["out"], memoryview(bytes(16))
        )


def test_a_million_faults_are_one() -> None:
    with pytest.raises(OutOfForm):
        read(HarnessAnswer, {"raised": None, "sets": [[{}] * 40_000]})


@pytest.mark.parametrize(
    "where",
    [[1, "f\nerror: forged"], [1, "f" * 101], [1, ""], [0, "f"], [1 << 40, "f"], [1], "1f"],
)
def test_a_place_out_of_form(where: object) -> None:
    answer = {"raised": {"phase": "run", "errors": [["E", ""]]}, "where": [7, "reference.<lambda>"]}
    assert read(HarnessAnswer, answer).where == (7, "reference.<lambda>")
    with pytest.raises(OutOfForm):
        read(HarnessAnswer, answer | {"where": where})


# --- through a process -----------------------------------------------------------------------------

FORGED = b"""
import sys
wire = sys.modules["bundler.worker.wire"]
send = wire.send
def forged(fd, header, parts=()):
    return send(fd, {**header, CHANGE} if header.get("sets") else header, parts)
wire.send = forged
"""


def _asked(small: Small, harness: bytes) -> Case:
    small.put(f"proof/{ID}/harness.py", harness)
    loaded = small.load()
    (case, *_) = loaded.experiment.expand()
    with start("oracle") as zygote, Oracle(zygote, loaded.experiment, loaded.harness, 0) as oracle:
        oracle.case(case)
    return case


@pytest.mark.parametrize(
    "change",
    [
        b'"sets": [[{"kind": "tensor"}]]',
        b'"sets": []',
        b'"sets": [[{}]]',
        b'"sets": 7',
        b'"references": []',
        b'"references": [[]]',
        b'"raised": {"errors": []}',
    ],
)
def test_a_hostile_harness_is_a_bad_experiment(tmp_path: Path, change: bytes) -> None:
    with pytest.raises(BadExperiment, match=r"the harness 'harness\.py'") as found:
        _asked(Small(tmp_path), HARNESS + FORGED.replace(b"CHANGE", change))
    assert found.value.hint


def test_a_reference_of_too_many_arrays_is_the_harness_fault(tmp_path: Path) -> None:
    """It was the candidates' before: they returned another number of tensors."""
    harness = HARNESS.replace(b"    return 2.0", b"    return (2.0").rstrip() + b",) * 2\n"
    with pytest.raises(BadExperiment, match="reference of set 0 is 2 arrays, not 1: "):
        _asked(Small(tmp_path), harness)


RAISES = HARNESS.replace(b"    return 2.0", b"    return helper(case)\n    return 2.0")
HELPER = b"""

def helper(case):
    rows = [case[name] for name in ("rows",)]
    return rows
"""


@pytest.mark.parametrize(
    ("harness", "says"),
    [
        (RAISES + HELPER, "failed on case 'n=1': harness.py:11 in helper.<listcomp>: KeyError: 'rows'"),
        (RAISES, "failed on case 'n=1': harness.py:6 in reference: NameError: name 'helper' is not defined"),
        (HARNESS + b"\nimport nothere", "could not be loaded: harness.py:8: ModuleNotFoundError: No module"),
        (HARNESS + b"\ndef (:", "could not be loaded: harness.py:8: SyntaxError: invalid syntax"),
        (HARNESS + b"\n1 / 0", "could not be loaded: harness.py:8: ZeroDivisionError: division by zero"),
        (
            RAISES.replace(b"helper(case)", b"exit(3)"),
            "on case 'n=1': harness.py:6 in reference: SystemExit: 3",
        ),
        (
            RAISES.replace(b"helper(case)", b"None"),
            "TypeError: reference returned None, not an array or a tuple",
        ),
        (HARNESS.replace(b"def reference", b"def referenz"), "NameError: it defines no function 'reference'"),
        (
            HARNESS.replace(b"inputs(case, which, make)", b"inputs(case)"),
            "TypeError: inputs() takes 1 positional",
        ),
        (
            HARNESS.replace(b"return [make", b"return make").replace(b"))]", b"))"),
            "inputs returned a Tensor, not a",
        ),
        (HARNESS.replace(b"    return [make", b"    [make"), "inputs returned a NoneType, not a list"),
        (
            HARNESS.replace(b"[make.tensor(", b"[("),
            "inputs returned a ndarray in its list: make.tensor makes",
        ),
        (
            RAISES.replace(b"helper(case)", b"arguments[0].values * float('nan')"),
            "has a reference that no answer can equal on case 'n=1': out[0] is nan, and NaN is forbidden",
        ),
        (
            RAISES.replace(b"helper(case)", b"__import__('os')._exit(4)"),
            "gave no answer to 'case' on case 'n=1': ",
        ),
        (HARNESS + b"\nraise ValueError('x' * 9000 + chr(10) + chr(27))", "harness.py:8: ValueError: xxx"),
    ],
)
def test_a_harness_that_fails_is_told_with_its_line(tmp_path: Path, harness: bytes, says: str) -> None:
    with pytest.raises(BadExperiment) as found:
        _asked(Small(tmp_path), harness)
    assert says in found.value.problem
    assert found.value.problem.startswith("the harness 'harness.py' ")
    assert len(found.value.problem) < 1500
    assert "run bundler check and bundler verify again" in found.value.hint


def test_a_harness_that_never_ends_is_told_with_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle_module, "_CASE_S", 1)
    harness = RAISES.replace(b"    return helper(case)", b"    while True: pass")
    with pytest.raises(BadExperiment, match=r"gave no answer to 'case' on case 'n=1': not within 1 s"):
        _asked(Small(tmp_path), harness)


def test_a_file_is_named_by_its_last_part(tmp_path: Path) -> None:
    small = Small(tmp_path)
    small.declared["harness"]["path"] = "controls/judge.py"
    small.put(f"proof/{ID}/controls/judge.py", HARNESS + b"\n1 / 0")
    with pytest.raises(BadExperiment, match=r"loaded: judge\.py:8: ZeroDivisionError"):
        _asked(small, HARNESS)
