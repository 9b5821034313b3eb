"""Statistics and the cross-check in words."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.digest import Digest
from bundler.judge import statistics
from bundler.model.outcome import NotRun, Outcome, Passed, Why
from bundler.report import checked, runs
from bundler.report.gather import gather
from bundler.report.remarks import remarks
from tests.small import PASSED, SKILL, TASK, WRONG_VALUES, Small, evidence, ground


def _facts(small: Small, outcomes: dict[str, Any] | None = None, **fields: Any) -> Any:
    loaded = small.load()
    return gather(loaded, [("here.json", evidence(loaded, {"device": ground(loaded, outcomes)}, **fields))])


def test_every_arm_has_its_interval_and_every_pair_its_test(small: Small) -> None:
    said = runs.lines(_facts(small, {"without-skill/01": WRONG_VALUES}))
    assert said == [
        "without-skill, device: 0 of 1 run (95 % interval: 0 to 79 %) passed every case",
        "with-skill, device: 1 of 1 run (95 % interval: 21 to 100 %) passed every case",
        "with-skill against without-skill, device: 1 of 1 against 0 of 1: more with it, too few runs to tell "
        "(Fisher's exact p = 1). No outcome of 1 and 1 runs could have been told from chance "
        "(p = 1 at best).",
    ]


def test_cases_that_were_not_judged_are_no_every_case(small: Small) -> None:
    loaded = small.load()
    unrun = {"n=100": NotRun(why=Why.NOT_ON_THIS_GROUND)}
    compiled = ground(loaded, dict.fromkeys(("without-skill/01", "with-skill/01"), unrun))
    device = ground(loaded, {"with-skill/01": unrun})
    facts = gather(loaded, [("e.json", evidence(loaded, {"device": device, "compile:sm_90": compiled}))])
    run, judged = "1 of 1 run (95 % interval: 21 to 100 %)", "case that was judged (1 of 2)"
    assert runs.lines(facts)[:4] == [
        f"without-skill, device: {run} passed every case",
        f"without-skill, compile for every architecture: {run} compiled in every {judged}",
        f"with-skill, device: {run} passed every {judged}",
        f"with-skill, compile for every architecture: {run} compiled in every {judged}",
    ]


def test_without_scipy_the_report_says_so(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(statistics.__dict__, "_scipy_stats", _no_scipy)
    (line,) = runs.lines(_facts(small))
    assert line.startswith("Not computed: scipy cannot be imported: gone; run pip install '.[stats]'")


def _no_scipy() -> Any:
    raise statistics.UnavailableError(
        "scipy cannot be imported: gone", hint="run pip install '.[stats]' in bundler's checkout"
    )


CHECK = {"of": "control-wrong/control-wrong", "says": "It is the arithmetic."}


def test_a_cross_check_is_held_against_each_executing_ground(small: Small) -> None:
    small.declared["cross_check"] = CHECK
    cells: dict[str, Outcome] = {"n=1": PASSED, "n=100": WRONG_VALUES}
    assert checked.lines(_facts(small, cross_check=cells)) == [
        "control-wrong/control-wrong again in NumPy. The author: It is the arithmetic.",
        "On Some CPU: 1 of 2 cases passed; wrong: n=100",
        "device (Some CPU): 1 of 2 cases as in NumPy; otherwise: n=1",
    ]


def test_a_cross_check_that_was_not_run_is_not_silent(small: Small) -> None:
    assert checked.lines(_facts(small)) == []
    small.declared["cross_check"] = CHECK
    assert checked.lines(_facts(small)) == ["control-wrong/control-wrong: declared, and no evidence has it."]
    assert isinstance(PASSED, Passed)


def test_what_chance_explains_of_the_arms_difference() -> None:
    assert runs.chance((0, 5), (0, 5), "b") == ""
    assert (
        runs.chance((0, 5), (1, 5), "b")
        == "That more are right in the arm b may be chance: Fisher's exact p = 1."
    )
    assert runs.chance((3, 3), (2, 3), "b") == (
        "That fewer are right in the arm b may be chance: Fisher's exact p = 1; "
        "no outcome of so few answers could have told otherwise."
    )
    assert runs.chance((0, 5), (5, 5), "b") == (
        "Chance hardly explains that more are right in the arm b: Fisher's exact p = 0.0079."
    )


def test_without_scipy_the_remark_on_chance_says_that_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(statistics.__dict__, "_scipy_stats", _no_scipy)
    assert runs.chance((3, 3), (1, 3), "b") == (
        "Whether chance explains that fewer are right in the arm b was not computed: scipy cannot be "
        "imported: gone; run pip install '.[stats]' in bundler's checkout."
    )


def _skill(version: bytes) -> bytes:
    return b"---\nname: x\ndescription: y\nversion: " + version + b"\n---\n"


def test_a_stale_entry_says_so_first(small: Small) -> None:
    path = f"skills/{SKILL}/SKILL-0.1.0.md"
    small.put(path, _skill(b"0.1.0"))
    small.put(f"skills/{SKILL}/SKILL.md", _skill(b"0.2.0"))
    arm = small.arm("with-skill")
    arm["skill"] |= {"path": path, "sha256": Digest.of(_skill(b"0.1.0"))}
    arm["prompt_sha256"] = Digest.of(_skill(b"0.1.0") + b"\n" + TASK)
    facts = _facts(small)
    assert remarks(facts.loaded.experiment, facts.columns, facts.stale_since)[0] == (
        "Stale: the skill is at 0.2.0 now, of which nothing is said."
    )
