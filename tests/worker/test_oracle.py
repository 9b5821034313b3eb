"""A harness's answers on the wire: references with a scale, derived arrays, cross-checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bundler.worker.oracle import Server
from bundler.worker.wire import Message

HARNESS = b"""
import numpy as np
drawn = []
def inputs(case, which, make):
    drawn.append(which)
    return [make.tensor(np.full((2, 3), which + 1.0))]
def reference(case, which, arguments):
    return np.zeros(2), Scaled(np.ones((2, 2)), [[5.0, 6.0]])
def derive(case, which, arguments, outputs):
    return outputs[0] / arguments[0].values.sum()
def cross_check(case, which, arguments):
    return np.float32(1) / np.zeros(2, np.float32)
"""


@pytest.fixture
def server() -> Server:
    one = Server("oracle")
    assert one.answer(Message({"op": "load"}, HARNESS))[0]["raised"] is None
    return one


def _array(answer: dict[str, Any], key: str, payload: bytes, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    at, count = answer[key]
    return np.frombuffer(payload[at : at + count], "<f8").reshape(shape)


CASE = {"op": "case", "case": "a", "params": {}, "seed": 0, "sets": 2, "stand_in": False}


def test_a_scale_travels_with_its_reference(server: Server) -> None:
    header, parts = server.answer(Message(CASE | {"answer": "reference"}))
    plain, scaled = header["references"][1]
    assert "scale" not in plain
    assert _array(scaled, "scale", b"".join(parts), (2, 2)).tolist() == [[5, 6], [5, 6]]


def test_derive_sees_the_set_that_the_call_was_made_on(server: Server) -> None:
    outputs = np.array([6.0, 12.0]).tobytes()
    about = {"op": "derive", "outputs": [{"dtype": "float64", "shape": [2], "data": [0, 16]}]}
    for which, expected in ((0, [1.0, 2.0]), (1, [0.5, 1.0])):
        header, parts = server.answer(Message(CASE | about | {"which": which}, outputs))
        (answer,) = header["references"][0]
        assert _array(answer, "data", b"".join(parts), (2,)).tolist() == expected


def test_inputs_are_drawn_once_for_a_case(server: Server) -> None:
    about = {"op": "derive", "which": 1, "outputs": [{"dtype": "float64", "shape": [1], "data": [0, 8]}]}
    server.answer(Message(CASE | {"answer": "reference"}))
    server.answer(Message(CASE | about, bytes(8)))
    server.answer(Message(CASE | {"case": "b", "answer": ""}))
    server.answer(Message(CASE | {"answer": ""}))
    assert server._harness.drawn == [0, 1, 0, 1, 0, 1]


def test_a_cross_check_may_divide_by_zero(server: Server) -> None:
    header, parts = server.answer(Message(CASE | {"sets": 1, "answer": "cross-check"}))
    (answer,) = header["references"][0]
    assert np.isinf(_array(answer, "data", b"".join(parts), (2,))).all()


IN_PLACE = HARNESS.replace(b"return np.zeros(2), Scaled", b"BODY; return np.zeros(2), Scaled")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"arguments[0].values[0] = 7", "read-only"),
        (b"arguments[0].values.sort()", "read-only"),
        (b"arguments[0].values.__isub__(1)", "read-only"),
    ],
)
def test_a_harness_cannot_change_what_later_answers_are_made_from(body: bytes, says: str) -> None:
    server = Server("oracle")
    server.answer(Message({"op": "load"}, IN_PLACE.replace(b"BODY", body)))
    header, _ = server.answer(Message(CASE | {"answer": "reference"}))
    assert says in header["raised"]["errors"][0][1]


def test_points_and_the_list_are_not_shared_either() -> None:
    server = Server("oracle")
    source = b"def inputs(case, which, make):\n    return [make.sparse((4,), 0.0, {1: 2.0})]\n"
    source += b"def reference(case, which, arguments):\n    arguments.append(1)\n    return len(arguments)\n"
    source += b"def cross_check(case, which, arguments):\n    arguments[0].points[3] = 1.0\n"
    server.answer(Message({"op": "load"}, source))
    for _ in range(2):
        header, parts = server.answer(Message(CASE | {"sets": 1, "answer": "reference"}))
        assert np.frombuffer(b"".join(parts), "<i8").tolist() == [2]
    header, _ = server.answer(Message(CASE | {"sets": 1, "answer": "cross-check"}))
    assert "mappingproxy" in header["raised"]["errors"][0][1]


@pytest.mark.parametrize(
    ("values", "scale", "taken"),
    [
        ("[1.0, 2.0]", "[0.0, 3.0]", True),
        ("[1.0, np.inf]", "[1.0, np.inf]", True),
        ("[1.0, np.nan]", "[1.0, np.nan]", True),
        ("[1.0, 2.0]", "[1.0, np.inf]", False),
        ("[1.0, 2.0]", "np.nan", False),
        ("[1.0, 2.0]", "-1.0", False),
    ],
)
def test_a_scale_makes_no_tolerance_endless(values: str, scale: str, taken: bool) -> None:
    server = Server("oracle")
    body = f"return Scaled(np.array({values}), {scale})".encode()
    server.answer(Message({"op": "load"}, HARNESS.replace(b"return np.zeros(2), Scaled", body + b"; Scaled")))
    header, _ = server.answer(Message(CASE | {"answer": "reference"}))
    assert (header["raised"] is None) == taken


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"np.ones(2) * 1j", "complex128"),
        (b"np.array(['1', '2'])", "<U1"),
        (b"np.array([object(), 1])", "object"),
        (b"None", "derive returned None"),
        (b"np.array([2**63], dtype='u8')", "beyond int64"),
        (b"[[1, 2], [3]]", "inhomogeneous"),
    ],
)
def test_what_is_no_answer(answer: bytes, says: str) -> None:
    server = Server("oracle")
    server.answer(Message({"op": "load"}, HARNESS.replace(b"outputs[0] / arguments[0].values.sum()", answer)))
    about = {"op": "derive", "which": 0, "outputs": [{"dtype": "float64", "shape": [1], "data": [0, 8]}]}
    header, _ = server.answer(Message(CASE | about, bytes(8)))
    assert says in header["raised"]["errors"][0][1]
