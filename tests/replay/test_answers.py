"""Whatever a worker answers, it is read strictly, and at a bounded cost."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from bundler.judge.claims import CellClaim
from bundler.model.base import Frozen
from bundler.replay import remote_timer
from bundler.replay.answers import OutOfForm, read
from bundler.replay.compile import _CompileClaim
from bundler.replay.runner import Loaded, LoadedCuda

MANY: list[Any] = [{}] * 20_000
LISTS: list[tuple[type[Frozen], dict[str, Any]]] = [
    (CellClaim, {"calls": MANY}),
    (CellClaim, {"calls": [{"raised": None, "outputs": MANY}]}),
    (CellClaim, {"calls": [{"raised": None, "outputs": [{"type": "x", "shape": MANY}]}]}),
    (CellClaim, {"calls": [{"raised": {"phase": "run", "errors": MANY}}]}),
    (_CompileClaim, {"architectures": [], "kernels": MANY}),
    (_CompileClaim, {"architectures": MANY, "kernels": []}),
    (_CompileClaim, {"architectures": [{"sm": 90, "raised": None, "kernels": MANY}]}),
    (Loaded, {"raised": {"phase": "run", "errors": MANY}}),
    (remote_timer.SampleClaim, {"raised": None, "us": MANY}),
    (remote_timer.SampleClaim, {"raised": None, "clocks": MANY}),
    (remote_timer._OutputsClaim, {"raised": None, "calls": MANY}),
]


@pytest.mark.parametrize(("kind", "header"), LISTS)
def test_a_list_of_faults_has_few(kind: type[Frozen], header: dict[str, Any]) -> None:
    """Each that is collected takes a KiB; of over a million the judge's memory was spent."""
    with pytest.raises(ValidationError) as found:
        kind.model_validate(header)
    assert found.value.error_count() < 10
    with pytest.raises(OutOfForm) as said:
        read(kind, header)
    assert len(str(said.value)) < 400


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        (Loaded, {"raised": None, "unsupported": "NVRTC could not be loaded"}),
        (Loaded, {"raised": None, "surprise": 1}),
        (LoadedCuda, {"raised": None, "surprise": 1}),
        (CellClaim, {"calls": [{"raised": None}], "no_memory": "none"}),
        (_CompileClaim, {"unsupported": "sm_90"}),
    ],
)
def test_what_was_not_asked_for_is_refused(kind: type[Frozen], header: dict[str, Any]) -> None:
    with pytest.raises(OutOfForm, match="Extra inputs are not permitted"):
        read(kind, header)


def test_the_first_fault_says_where_it_is() -> None:
    with pytest.raises(OutOfForm, match=r"^calls\.0\.launches: Input should be a valid integer"):
        read(CellClaim, {"calls": [{"raised": None, "launches": "many"}]})
