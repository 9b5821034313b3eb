"""What was written is read again as it was."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from bundler.model.evidence import Evidence, evidence_json
from bundler.model.host import Gpu, Host, Read, Unread
from bundler.model.outcome import Crashed, Mark, NotRun, Passed, TimedOut, Why
from bundler.model.timing import ClockProbe
from tests.small import KERNEL_MADE, UNCOMPILABLE, WRONG_VALUES, Small, evidence, ground

HOST = Host(
    system={"empty": Read(value="", call="c"), "none": Unread(status="error", code="", call="c")},
    software={},
    gpus=(
        Gpu(index=0, fields={"event_reasons": Read(value=(), call="n"), "mig": Read(value=False, call="n")}),
        Gpu(index=1, fields={}),
    ),
)


def test_every_kind_of_cell_and_of_emptiness(small: Small) -> None:
    loaded = small.load()
    report = ground(
        loaded,
        {
            "without-skill/01": {
                "n=1": Passed(kernels=(0,), error=0.0, marks=(Mark.INPUT_CHANGED,)),
                "n=100": NotRun(why=Why.NEEDS),
            },
            "with-skill/01": {"n=1": UNCOMPILABLE, "n=100": WRONG_VALUES},
            "control-right/control-right": {"n=1": Crashed(detail=""), "n=100": TimedOut(limit_seconds=2)},
        },
    )
    empty = ground(loaded, cells={}, isolation={}, status="not-available", reason="no GPU")
    made = evidence(
        loaded,
        {"compile:sm_90": report, "device": empty},
        host=HOST,
        kernels=(KERNEL_MADE,),
        complete=False,
        judge_isolation={},
    )
    assert Evidence.model_validate_json(evidence_json(made)) == made


def test_no_ground_and_no_candidate(small: Small) -> None:
    made = evidence(small.load(), {})
    nothing = made.model_copy(update={"subject": made.subject.model_copy(update={"candidates": {}})})
    assert Evidence.model_validate_json(evidence_json(nothing)) == nothing


def test_the_file_is_lean_and_has_a_line_for_a_candidate(small: Small) -> None:
    loaded = small.load()
    text = evidence_json(evidence(loaded, {"interpreter": ground(loaded)})).decode()
    row = '"with-skill/01":{"n=1":{"outcome":"passed"},"n=100":{"outcome":"passed"}},'
    assert row in text.splitlines()
    assert "tuned" not in json.loads(text)["grounds"]["interpreter"]


@pytest.mark.parametrize("digits", ["18446744073709551616", "-18446744073709551616", "1" + 400 * "0"])
def test_an_integer_of_over_64_bits_is_none(digits: str) -> None:
    """What takes such a number apart later, a division among it, would not be ready for it."""
    for text, model in (
        (f'{{"cycles":{digits},"ns":1}}', ClockProbe),
        (f'{{"value":{digits},"call":"c"}}', Read),
    ):
        with pytest.raises(ValidationError):
            model.model_validate_json(text)
    assert ClockProbe(cycles=2**64 - 1, ns=1).mhz > 0
