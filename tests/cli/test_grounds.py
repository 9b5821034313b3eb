"""Which grounds are asked for where the command line names none."""

from __future__ import annotations

from pathlib import Path

from bundler.cli.options import Selection
from bundler.experiment.load import Loaded
from bundler.model.experiment import Ground
from tests.cuda.toy import Toy
from tests.small import Small


def _interpreter(loaded: Loaded, *grounds: Ground) -> bool:
    return Selection(grounds or None, None, None, None, "0", 0).request(loaded).interpreter


def test_the_interpreter_is_for_candidates_in_triton(small: Small, tmp_path: Path) -> None:
    assert _interpreter(small.load())
    cuda = Toy(tmp_path / "cuda").load()
    assert not _interpreter(cuda)
    assert _interpreter(cuda, Ground.INTERPRETER)  # asked for by name: the report says why it has nothing


def test_one_arm_in_triton_is_enough(small: Small) -> None:
    small.declared["arms"][0]["language"] = "triton"
    assert _interpreter(small.load())
