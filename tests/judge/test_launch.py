"""The launch of a CUDA C++ kernel: numbers from expressions, within CUDA's limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bundler.errors import BadExperiment
from bundler.experiment.load import load
from bundler.judge.launch import depends_on_tensors, launch_of, shape_of
from bundler.model.experiment import Experiment
from tests.cuda.toy import CUDA, Toy

SPECS = [{"kind": "tensor", "shape": [1000, 2], "strides": [2, 1]}]
CASE = 2
"""n=1000, contiguous."""


def _experiment(tmp_path: Path, **changes: Any) -> Experiment:
    toy = Toy(tmp_path)
    toy.declared["cuda"] = CUDA | changes
    return toy.load().experiment


def test_what_the_worker_is_told(tmp_path: Path) -> None:
    experiment = _experiment(tmp_path)
    case = experiment.expand()[CASE]
    assert launch_of(experiment, case, SPECS, [(1000,)]) == {
        "grid": [4, 1, 1],
        "block": [256, 1, 1],
        "shared_bytes": 0,
        "arguments": [
            {"input": 0},
            {"output": {"dtype": "float32", "shape": [1000], "initial": "poison"}},
            {"scalar": "int", "value": 1000},
            {"scalar": "long long", "value": 2},
            {"scalar": "float", "value": (2.5).hex()},
        ],
        "returns": [1],
    }


def test_warps_are_rounded_up(tmp_path: Path) -> None:
    experiment = _experiment(tmp_path, block=[33, 2])
    assert shape_of(experiment, experiment.expand()[CASE], SPECS).warps == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"block": [1025]}, "block.x 1025 is 1025"),
        ({"block": [512, 3]}, "over 1024 threads"),
        ({"block": [1, 1, 65]}, "block.z"),
        ({"block": [0]}, "from 1 to 1024"),
        ({"grid": ["n - 1000"]}, "grid.x 'n - 1000' is 0"),
        ({"grid": [1, 65536]}, "grid.y"),
        ({"grid": ["n * n * n * 4"]}, "from 1 to 2147483647"),
        ({"shared_bytes": -1}, "shared_bytes"),
        ({"grid": ["n * 0.5"]}, "not a whole number"),
        ({"grid": ["shape(1, 0)"]}, "argument 1 is no tensor"),
    ],
)
def test_what_no_device_could_take(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    experiment = _experiment(tmp_path, **changes)
    with pytest.raises(BadExperiment) as raised:
        shape_of(experiment, experiment.expand()[CASE], SPECS)
    assert says in str(raised.value)
    assert "n=1000/contiguous" in str(raised.value)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ({"value": "n * n * n * n"}, "not a whole number from -2147483648"),
        ({"value": -1, "type": "unsigned int"}, "from 0 to 4294967295"),
        ({"value": "a"}, "is 2.5, not a whole number"),
        ({"input": 1}, "which is no tensor: the harness gives 1 tensor,"),
    ],
)
def test_what_an_argument_cannot_be(tmp_path: Path, argument: dict[str, Any], says: str) -> None:
    arguments = [CUDA["arguments"][1], {"name": "odd"} | argument]  # type: ignore[index]
    experiment = _experiment(tmp_path, arguments=arguments)
    with pytest.raises(BadExperiment) as raised:
        launch_of(experiment, experiment.expand()[CASE], SPECS, [(1000,)])
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"grid": ["rows"]}, "grid.x 'rows': 'rows' is no number of case"),
        ({"block": ["layout"]}, "'layout' is no number"),
        ({"shared_bytes": "n ** 2"}, "shared_bytes 'n ** 2': "),
        ({"arguments": [{"name": "y", "output": "other"}]}, "the output 'other' is none of what"),
        ({"arguments": [{"name": "x", "input": 0}]}, "no argument is the output 'out'"),
        ({"arguments": [{"name": "y", "output": "out"}] * 2}, "the output of two arguments"),
        ({"arguments": [{"name": "y", "output": "out"}, {"name": "n", "value": "m"}]}, "argument 'n' 'm': "),
    ],
)
def test_a_block_that_names_what_is_not_there(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    toy = Toy(tmp_path)
    toy.declared["cuda"] = CUDA | changes
    with pytest.raises(BadExperiment) as raised:
        load(toy.write())
    assert says in str(raised.value)


def test_cases_that_return_something_else(tmp_path: Path) -> None:
    toy = Toy(tmp_path)
    toy.declared["cases"][0]["returns"] = [toy.declared["returns"][0] | {"name": "other"}]
    with pytest.raises(BadExperiment, match="return other tensors"):
        load(toy.write())


def test_a_case_that_is_for_the_interpreter_alone_needs_nothing(tmp_path: Path) -> None:
    toy = Toy(tmp_path)
    toy.declared["cases"].append({"id": "alone", "grounds": ["interpreter"]})
    toy.load()


@pytest.mark.parametrize(
    ("grid", "asks"), [(["n"], False), (["shape(0, 0)"], True), ([1, "stride(0, 1)"], True)]
)
def test_when_the_inputs_are_needed(tmp_path: Path, grid: list[Any], asks: bool) -> None:
    assert depends_on_tensors(_experiment(tmp_path, grid=grid)) is asks
