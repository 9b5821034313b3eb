"""What of an experiment the command line selects: grounds, architectures, candidates and cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.cli.options import Selection, ground
from bundler.errors import UsageError
from bundler.experiment.load import Loaded
from bundler.model.experiment import Ground
from bundler.replay.request import Request
from tests.cuda.toy import Toy
from tests.small import Small, evidence
from tests.small import ground as report


def _request(
    loaded: Loaded,
    *grounds: str,
    arch: tuple[int, ...] = (),
    candidates: tuple[str, ...] = (),
    cases: tuple[str, ...] = (),
) -> Request:
    return Selection(grounds or None, arch, candidates, cases, "0", 0).request(loaded)


@pytest.fixture
def recorded(small: Small) -> Loaded:
    """Of the experiment, recorded for three architectures and the interpreter."""
    names = ("compile:sm_75", "compile:sm_86", "compile:sm_90", "interpreter")
    first = small.load()
    small.record(evidence(first, {name: report(first) for name in names}))
    return small.load()


def test_the_interpreter_is_for_candidates_in_triton(small: Small, tmp_path: Path) -> None:
    assert _request(small.load()).interpreter
    cuda = Toy(tmp_path / "cuda").load()
    assert not _request(cuda).interpreter
    # asked for by name: the report says why it has nothing
    assert _request(cuda, Ground.INTERPRETER).interpreter


def test_one_arm_in_triton_is_enough(small: Small) -> None:
    small.declared["arms"][0]["language"] = "triton"
    assert _request(small.load()).interpreter


@pytest.mark.parametrize(
    ("grounds", "arch", "asked"),
    [
        (("compile",), (), ("compile:sm_75", "compile:sm_86", "compile:sm_90")),
        (("compile:sm_86",), (), ("compile:sm_86",)),
        (("compile:sm_86", "compile:sm_75"), (), ("compile:sm_75", "compile:sm_86")),
        (("interpreter", "compile:sm_86"), (), ("compile:sm_86", "interpreter")),
        (("compile:sm_86",), (120,), ("compile:sm_86", "compile:sm_120")),
        (("compile:sm_120",), (), ("compile:sm_120",)),
        (
            ("compile", "compile:sm_120"),
            (),
            ("compile:sm_75", "compile:sm_86", "compile:sm_90", "compile:sm_120"),
        ),
    ],
)
def test_one_architecture_can_be_asked_for_alone(
    recorded: Loaded, grounds: tuple[str, ...], arch: tuple[int, ...], asked: tuple[str, ...]
) -> None:
    request = _request(recorded, *grounds, arch=arch)
    assert request.grounds() == asked
    compiled = {name for name in asked if name.startswith("compile")}
    every = {"compile:sm_75", "compile:sm_86", "compile:sm_90"}
    assert request.narrow == (bool(compiled) and not every <= compiled)


def test_an_architecture_without_the_ground_that_it_is_of_is_refused(recorded: Loaded) -> None:
    with pytest.raises(UsageError, match="--arch 120 is for the ground compile") as refused:
        _request(recorded, "interpreter", arch=(120,))
    assert refused.value.hint == "add --ground compile, or --ground compile:sm_120 for it alone"


def test_what_was_not_asked_for_is_said(recorded: Loaded) -> None:
    def said(*grounds: str) -> tuple[str, ...]:
        return Selection(grounds or None, None, None, None, "random", 0).not_asked_for(recorded)

    assert said() == said("device", "compile", "interpreter") == ()
    assert said("device", "compile:sm_86") == ("not asked for: compile:sm_75, compile:sm_90, interpreter",)
    assert said("compile", "interpreter") == ("not asked for: device",)


@pytest.mark.parametrize("text", ["compile:86", "compile:sm_86", "compile:SM_86", "compile:8.6"])
def test_an_architectures_ground_by_each_of_its_names(text: str) -> None:
    assert ground(text) == "compile:sm_86"


@pytest.mark.parametrize(
    ("named", "selected"),
    [
        (("with-skill/*",), ("with-skill/01",)),
        (("with*",), ("without-skill/01", "with-skill/01")),
        (("with-skill/01", "without-skill/0?"), ("without-skill/01", "with-skill/01")),
        (("with-skill/01", "with-skill/01", "with-skill/*"), ("with-skill/01",)),
    ],
)
def test_patterns_and_duplicates_of_candidates(
    small: Small, named: tuple[str, ...], selected: tuple[str, ...]
) -> None:
    """In the experiment's order, each once, however they are named."""
    assert _request(small.load(), candidates=named).candidates == selected


def test_patterns_and_duplicates_of_cases(small: Small) -> None:
    loaded = small.load()
    assert _request(loaded).cases is None
    assert _request(loaded, cases=("n=100", "n=1", "n=1")).cases == ("n=1", "n=100")
    assert _request(loaded, cases=("*00",)).cases == ("n=100",)
