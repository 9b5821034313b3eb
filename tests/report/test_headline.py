"""The headline and what stands beside it: one sentence, and never more than the evidence can tell."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.experiment.load import Loaded
from bundler.model.evidence import GroundReport
from bundler.model.experiment import Origin
from bundler.model.outcome import NotRun, Outcome, Why
from bundler.report import markdown
from bundler.report.across import Column, columns
from bundler.report.gather import gather
from bundler.report.headline import headline
from bundler.report.pairs import code_pairs
from bundler.report.remarks import remarks
from tests.small import PASSED, UNCOMPILABLE, WRONG_VALUES, Outcomes, Small, answer, evidence, ground

UNRUN = NotRun(why=Why.SLOW)


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def of(loaded: Loaded, grounds: dict[str, GroundReport]) -> list[Column]:
    """The columns of one host; ``compile`` stands for sm_90."""
    named = {"compile:sm_90" if name == "compile" else name: report for name, report in grounds.items()}
    return columns((("host", evidence(loaded, named)),))


def said(loaded: Loaded, **grounds: GroundReport) -> str:
    return headline(loaded.experiment, of(loaded, grounds))


def beside(loaded: Loaded, **grounds: GroundReport) -> list[str]:
    return remarks(loaded.experiment, of(loaded, grounds))


def test_all_right(loaded: Loaded) -> None:
    assert said(loaded, device=ground(loaded)) == (
        "Both kernels that the model wrote are right in every case on a GPU, with and without the skill: "
        "no difference was seen."
    )


def test_the_gpus_are_named(loaded: Loaded) -> None:
    found = columns((("host", evidence(loaded, {"device": ground(loaded)})),))
    assert "on a GPU (Tesla T4), with" in headline(loaded.experiment, found, ["Tesla T4"])


def test_the_compiler_alone_says_nothing_of_values(loaded: Loaded) -> None:
    assert said(loaded, compile=ground(loaded)) == (
        "Both kernels that the model wrote compile in every case for the architectures asked for, with and "
        "without the skill: no difference was seen; no GPU judged whether the values are right."
    )


@pytest.fixture
def four(small: Small) -> Loaded:
    """With four answers an arm, of which all against none is more than chance."""
    for arm in ("without-skill", "with-skill"):
        outputs = [small.file(f"outputs/{arm}/0{n}.md", answer()) for n in range(1, 5)]
        small.arm(arm)["outputs"] = outputs
    return small.load()


def _all_of(arm: str, outcome: Outcomes | Outcome) -> dict[str, Any]:
    return {f"{arm}/0{n}": outcome for n in range(1, 5)}


def test_a_skill_that_breaks_every_case(four: Loaded) -> None:
    broken = ground(four, _all_of("with-skill", UNCOMPILABLE))
    assert said(four, device=broken) == (
        "The skill breaks 2 of 2 cases on a GPU, as seen in 4 answers with it and 4 without."
    )
    assert said(four, compile=broken) == (
        "The skill breaks 2 of 2 cases for the architectures asked for, as seen in 4 answers with it and "
        "4 without."
    )


def test_a_skill_that_mends_one(four: Loaded) -> None:
    assert said(four, device=ground(four, _all_of("without-skill", {"n=100": WRONG_VALUES}))) == (
        "The skill mends 1 of 2 cases on a GPU, as seen in 4 answers with it and 4 without."
    )


@pytest.mark.parametrize("arm", ["with-skill", "without-skill"])
def test_what_so_few_answers_could_not_tell_from_chance_is_only_counted(loaded: Loaded, arm: str) -> None:
    report = ground(loaded, {f"{arm}/01": UNCOMPILABLE})
    without, with_ = (0, 1) if arm == "without-skill" else (1, 0)
    assert said(loaded, device=report) == (
        f"Of the kernels that the model wrote, {without} of 1 without the skill and {with_} of 1 with the "
        "skill 0.1.0 are right in every case on a GPU."
    )
    (remark,) = beside(loaded, device=report)
    assert remark.endswith("no outcome of so few answers could have told otherwise.")


# --- the interpreter, which is no run --------------------------------------------------------------


def test_of_the_interpreter_no_effect_is_claimed_however_many_the_answers(four: Loaded) -> None:
    broken = ground(four, _all_of("with-skill", UNCOMPILABLE))
    assert said(four, interpreter=broken) == (
        "Of the kernels that the model wrote, 4 of 4 without the skill and 0 of 4 with the skill 0.1.0 are "
        "right in every case in Triton's interpreter; what the interpreter fails may be its own limit, and "
        "what it passes counts for nothing."
    )
    assert said(four, interpreter=ground(four)).endswith(
        "neither a GPU nor a compiler judged them, and the interpreter alone counts for nothing."
    )


def test_the_compiler_decides_over_the_interpreter(four: Loaded) -> None:
    broken = {"compile": ground(four), "interpreter": ground(four, _all_of("with-skill", UNCOMPILABLE))}
    assert said(four, **broken) == (
        "All 8 kernels that the model wrote compile in every case for the architectures asked for, with and "
        "without the skill: no difference was seen there; on the ground interpreter (host), whose failures "
        "may be its own, 8 of 8 cells passed without the skill and 0 of 8 with the skill 0.1.0; no GPU "
        "judged whether the values are right."
    )
    assert beside(four, **broken) == [
        "On the ground interpreter (host), with-skill/01, with-skill/02, with-skill/03, with-skill/04 did "
        "not pass every case; what the interpreter fails may be its own limit."
    ]
    assert beside(four, compile=ground(four), interpreter=ground(four)) == [
        "On the ground interpreter (host), 8 kernels passed every case, which counts for nothing."
    ]


def test_a_replay_without_a_gpu_tells_of_the_recorded_device(small: Small) -> None:
    small.record(evidence(small.load(), {"device": ground(small.load())}), "h200")
    loaded = small.load()
    failing = ground(loaded, {"with-skill/01": UNCOMPILABLE})
    facts = gather(loaded, [("now.json", evidence(loaded, {"interpreter": failing}))])
    told = (
        "The recorded device evidence (h200) says: Both kernels that the model wrote are right in every case "
        "on a GPU (a GPU whose name could not be read), with and without the skill: no difference was seen."
    )
    assert told in markdown.beside(facts)
    text = markdown.pull_request(facts)
    assert text.index("**Of the kernels") < text.index(told) < text.index("| cells passed")
    on_gpu = gather(loaded, [("now.json", evidence(loaded, {"device": failing}))])
    assert not any("recorded" in remark for remark in markdown.beside(on_gpu))
    assert not any("recorded" in remark for remark in markdown.beside(gather(loaded)))


def test_mixed_cases_are_only_counted(loaded: Loaded) -> None:
    mixed = {"without-skill/01": {"n=100": WRONG_VALUES}, "with-skill/01": {"n=1": WRONG_VALUES}}
    assert said(loaded, device=ground(loaded, mixed)) == (
        "Of the kernels that the model wrote, 0 of 1 without the skill and 0 of 1 with the skill 0.1.0 are "
        "right in every case on a GPU."
    )


def test_the_device_decides_and_the_interpreter_is_remarked(loaded: Loaded) -> None:
    grounds = {"device": ground(loaded), "interpreter": ground(loaded, {"without-skill/01": UNCOMPILABLE})}
    found = columns((("host", evidence(loaded, grounds)),))
    assert headline(loaded.experiment, found).endswith(
        "no difference was seen there; on the ground interpreter (host), whose failures may be its own, 0 of "
        "2 cells passed without the skill and 2 of 2 with the skill 0.1.0."
    )
    assert remarks(loaded.experiment, found) == [
        "On the ground interpreter (host), without-skill/01 did not pass every case; what the interpreter "
        "fails may be its own limit."
    ]


def test_a_case_that_did_not_run_is_no_pass(loaded: Loaded) -> None:
    unrun: Outcomes = {"with-skill/01": {"n=100": NotRun(why=Why.NEEDS)}}
    both = dict.fromkeys(("with-skill/01", "without-skill/01"), unrun["with-skill/01"])
    judged = "in every case that was judged"
    assert f"are right {judged} (1 to 2 of 2) on a GPU, with" in said(loaded, device=ground(loaded, unrun))
    assert f"compile {judged} (1 of 2) for the" in said(loaded, compile=ground(loaded, both))
    there = beside(loaded, compile=ground(loaded), interpreter=ground(loaded, both))
    assert "2 kernels passed every case that was judged (1 of 2), which counts for nothing" in there[0]


def test_of_one_case_alone_not_every_case_is_claimed(loaded: Loaded) -> None:
    """As after ``verify --case n=1``, whose evidence has no other cell."""
    whole = ground(loaded).cells
    report = ground(loaded, cells={name: {"n=1": row["n=1"]} for name, row in whole.items()})
    assert "in every case that was judged (1 of 2) on a GPU" in said(loaded, device=report)


def test_the_headline_alone_tells_of_each_ground_that_fails_a_kernel(loaded: Loaded) -> None:
    grounds = {
        "device": ground(loaded),
        "compile:sm_75": ground(loaded, dict.fromkeys(("with-skill/01", "without-skill/01"), UNCOMPILABLE)),
        "compile:sm_90": ground(loaded, {"with-skill/01": {"n=1": UNCOMPILABLE}}),
        "interpreter": ground(loaded),
    }
    assert said(loaded, **grounds).endswith(
        "no difference was seen there; on the ground compile sm_75 (host), 0 of 2 cells passed without the "
        "skill and 0 of 2 with the skill 0.1.0; on the ground compile sm_90 (host), 2 of 2 cells passed "
        "without the skill and 1 of 2 with the skill 0.1.0."
    )


def test_two_models_are_told_apart_and_not_held_against_one_another(small: Small) -> None:
    other = dict.fromkeys(("name", "version", "sampling", "system_prompt", "date", "procedure"), "other")
    small.arm("with-skill")["model"] = other
    loaded = small.load()
    assert said(loaded, device=ground(loaded)).startswith("Both kernels that 2 models wrote are right")
    assert said(loaded, device=ground(loaded, {"with-skill/01": UNCOMPILABLE})) == (
        "Of the kernels that 2 models wrote, 1 of 1 in without-skill and 0 of 1 in with-skill are right in "
        "every case on a GPU."
    )
    assert code_pairs(loaded) == []


def test_nothing_was_judged(loaded: Loaded) -> None:
    gone = ground(loaded, {}, status="not-available", reason="no GPU", cells={})
    assert said(loaded, device=gone) == "No cell ran here."
    unrun = dict.fromkeys(("without-skill/01", "with-skill/01"), NotRun(why=Why.NEEDS))
    assert said(loaded, device=ground(loaded, unrun)) == "No cell of a kernel that a model wrote ran here."


CONTROL = "control-right/control-right"
FAULTS = {
    "a control misbehaved": ({CONTROL: WRONG_VALUES}, True),
    "the replay was cut short before every control had run": ({CONTROL: UNRUN}, False),
    "a control was not run": ({CONTROL: UNRUN}, True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_invalid_ground_says_nothing_and_why(loaded: Loaded, fault: str) -> None:
    outcomes, complete = FAULTS[fault]
    invalid = ground(loaded, outcomes, status="invalid", reason="a control")
    named = (("host", evidence(loaded, {"device": invalid}, complete=complete)),)
    assert headline(loaded.experiment, columns(named)) == (
        f"Nothing can be said: {fault}, so what ran here cannot be trusted."
    )
    assert remarks(loaded.experiment, columns(named)) == [
        f"{fault[0].upper()}{fault[1:]} on device (host, invalid), so nothing there was counted."
    ]


def test_a_control_that_has_only_not_failed_yet_did_not_misbehave(loaded: Loaded) -> None:
    so_far = {"control-wrong/control-wrong": {"n=1": PASSED, "n=100": UNRUN}}
    invalid = ground(loaded, so_far, status="invalid", reason="a control")
    now = evidence(loaded, {"device": invalid}, complete=False)
    assert "cut short before" in headline(loaded.experiment, columns((("host", now),)))
    # A control that must pass and did not has misbehaved, cut short or not.
    worse = ground(loaded, so_far | {CONTROL: WRONG_VALUES}, status="invalid", reason="a control")
    now = evidence(loaded, {"device": worse}, complete=False)
    assert "a control misbehaved" in headline(loaded.experiment, columns((("host", now),)))


def test_another_ground_that_can_be_trusted_still_speaks(loaded: Loaded) -> None:
    invalid = ground(loaded, {CONTROL: WRONG_VALUES}, status="invalid", reason="a control")
    assert said(loaded, device=invalid, interpreter=ground(loaded)).startswith("Both kernels")


def test_reconstructions_and_controls_never_count(small: Small) -> None:
    reconstructed = small.control("told", b"def double(x): ...\n", "pass")
    del reconstructed["expect"], reconstructed["on"]
    small.declared["arms"].append(reconstructed | {"origin": "reconstructed", "summary": "after a text"})
    loaded = small.load()
    report = ground(loaded, {"told/told": UNCOMPILABLE})
    assert said(loaded, device=report).startswith("Both kernels that the model wrote are right")
    found = columns((("host", evidence(loaded, {"device": report})),))
    assert "counts neither for nor against" in remarks(loaded.experiment, found)[-1]
    assert loaded.experiment.arms[-1].origin is Origin.RECONSTRUCTED
