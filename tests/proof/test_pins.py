"""What an experiment pins is what its runtime's lock has."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.experiment.load import parse
from bundler.runtime.lock import load_lock

ROOT = Path(__file__).parents[2]
DECLARATIONS = sorted(ROOT.glob("proof/*/*/experiment.yaml"))


@pytest.mark.parametrize("path", DECLARATIONS, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_the_pinned_versions_are_those_of_the_lock(path: Path) -> None:
    runtime = parse(path.read_bytes(), str(path)).runtime
    locked = {wheel.name: wheel.version for wheel in load_lock(ROOT / "images" / runtime.name).wheels}
    assert (runtime.torch, runtime.triton) == (locked["torch"].split("+")[0], locked["triton"])


def test_a_host_on_other_versions_is_told() -> None:
    runtime = parse(DECLARATIONS[0].read_bytes(), "row-max").runtime
    assert runtime.differences({"torch": "2.13.0+cpu", "triton": "3.7.1"}) == {}
    assert runtime.differences({"torch": "2.11.0"}) == {
        "torch": "2.11.0 here, 2.13.0 pinned",
        "triton": "none here, 3.7.1 pinned",
    }
