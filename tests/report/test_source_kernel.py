"""What a report says of ports beside the kernel that they port."""

from __future__ import annotations

from bundler.model.outcome import Passed
from bundler.report.hosts import arm_note
from bundler.report.source_kernel import on_device, said
from tests.small import Small, evidence, ground

PORT = "with-skill/01"


def test_nothing_where_nothing_was_compared(small: Small) -> None:
    loaded = small.load()
    report = ground(loaded)
    assert said(loaded.experiment, report) == ""
    assert on_device(loaded.experiment, evidence(loaded, {"device": report})) == ""
    assert on_device(loaded.experiment, evidence(loaded, {})) == ""


def test_how_many_agree(small: Small) -> None:
    loaded = small.load()
    alike, apart = Passed(differs_from_source=0), Passed(differs_from_source=2)
    outcomes = {PORT: {"n=1": alike, "n=100": alike}, "control-right/control-right": apart}
    report = ground(loaded, outcomes)
    assert said(loaded.experiment, report) == (
        "2 of 2 passing port cells agree with the source kernel within the tolerance"
    )
    report = ground(loaded, {PORT: {"n=1": alike, "n=100": apart}})
    assert on_device(loaded.experiment, evidence(loaded, {"device": report})) == (
        "1 of 2 passing port cells agree with the source kernel within the tolerance; "
        "apart: with-skill/01 on n=100"
    )
    invalid = report.model_copy(update={"status": "invalid", "reason": "a control"})
    assert on_device(loaded.experiment, evidence(loaded, {"device": invalid})) == ""


def test_the_source_is_named(small: Small) -> None:
    arm = small.load().experiment.arms[-1]
    assert arm_note(arm) == "control, must fail"
    assert arm_note(arm.model_copy(update={"origin": "source"})) == "source kernel, must fail"
