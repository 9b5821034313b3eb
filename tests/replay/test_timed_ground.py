"""What the device ground hands to the timing: its outcomes, and whether its controls behaved."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bundler.model.outcome import Outcome, Passed, Wrong
from bundler.replay import grounds_executed
from bundler.replay.cells import Cells
from tests.small import Small

WRONG = Wrong(what="values", call=0, detail="")


@pytest.mark.parametrize(
    ("of_the_wrong_control", "says"),
    [(WRONG, ""), (Passed(), "control control-wrong/control-wrong must fail and passed")],
)
def test_nothing_is_timed_where_a_control_misbehaved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_the_wrong_control: Outcome, says: str
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(grounds_executed, "time_cells", lambda *_, **named: given.update(named))
    small = Small(tmp_path)
    small.declared["timing"] = {"cases": ["n=1"], "bytes": "8 * n"}
    experiment = small.load().experiment
    candidates, cases = experiment.candidates(), experiment.expand()
    cells = Cells(("device",), candidates, cases)
    for candidate in candidates:
        outcome = of_the_wrong_control if candidate.arm.name == "control-wrong" else Passed()
        for case in cases:
            cells.put(candidate, case, {"device": outcome})
    record = SimpleNamespace(
        host=SimpleNamespace(cuda_device=lambda: "a device"), request=SimpleNamespace(time=True),
        experiment=experiment, candidates=candidates, cases=cases, cells=cells, loaded=None, watch=None,
        stop=None,
    )  # fmt: skip
    grounds_executed._time(record, None, None)  # type: ignore[arg-type]
    assert given["invalid"].startswith(says)
    assert bool(given["invalid"]) is bool(says)
