"""The few facts of an evidence and its verdict, and the words for them."""

from __future__ import annotations

import pytest

from bundler.experiment.load import Loaded
from bundler.judge.verdict import hold
from bundler.model.outcome import Mark, NotRun, Passed, Why
from bundler.report import summary
from bundler.report.summary import Count, Unjudged
from bundler.report.text import count, few, plain
from tests.small import PASSED, UNCOMPILABLE, WRONG_VALUES, Small, answer, evidence, ground

OLD = NotRun(why=Why.NEEDS, detail="needs sm_90")


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def test_architectures_with_equal_outcomes_are_one_group(loaded: Loaded) -> None:
    same, other = ground(loaded), ground(loaded, {"with-skill/01": OLD})
    made = evidence(
        loaded, {"compile:sm_75": other, "compile:sm_80": same, "interpreter": same, "compile:sm_90": same}
    )
    assert [group.title for group in summary.groups(made)] == [
        "compile sm_75",
        "compile sm_80 90",
        "interpreter",
    ]


def test_counts_leave_out_what_was_not_run(loaded: Loaded) -> None:
    report = ground(loaded, {"with-skill/01": {"n=1": OLD}, "without-skill/01": OLD})
    assert summary.counts(loaded.experiment, report) == {
        "without-skill": Count(0, 0, 2),
        "with-skill": Count(1, 1, 1),
        "control-right": Count(2, 2, 0),
        "control-wrong": Count(0, 2, 0),
    }


def test_troubles_are_grouped_by_candidate_and_kind(loaded: Loaded) -> None:
    report = ground(
        loaded,
        {
            "with-skill/01": {"n=1": UNCOMPILABLE, "n=100": WRONG_VALUES},
            "without-skill/01": {"n=1": OLD},
        },
    )
    (group,) = summary.groups(evidence(loaded, {"interpreter": report}))
    assert [(t.who, t.kind, t.cases, t.detail) for t in summary.troubles(group)] == [
        ("with-skill/01", "failed (compile)", ("n=1",), "AttributeError: 'int' object has no attribute 'to'"),
        ("with-skill/01", "wrong", ("n=100",), "2 of 100 elements"),
        ("control-wrong/control-wrong", "wrong", ("n=1", "n=100"), "2 of 100 elements"),
    ]


def test_marks_are_named_once_with_the_number_of_cases_that_ran_and_have_them(loaded: Loaded) -> None:
    seen = Passed(marks=(Mark.INPUT_CHANGED,))
    report = ground(loaded, {"with-skill/01": seen, "without-skill/01": {"n=1": seen, "n=100": OLD}})
    assert summary.marks(report) == {
        "with-skill/01": ["changed its input (in 2 of 2 cases)"],
        "without-skill/01": ["changed its input (in 1 of 1 case)"],
    }
    report = ground(loaded, {"with-skill/01": {"n=100": seen}})
    assert summary.marks(report) == {"with-skill/01": ["changed its input (in 1 of 2 cases)"]}


def test_everything_that_was_not_judged_has_its_reason(loaded: Loaded) -> None:
    recorded = evidence(
        loaded, {"interpreter": ground(loaded, {"without-skill/01": OLD}), "compile:sm_80": ground(loaded)}
    )
    now = evidence(
        loaded,
        {
            "device": ground(loaded, status="not-available", reason="no GPU"),
            "compile:sm_75": ground(loaded),
            "compile:sm_80": ground(loaded, status="invalid", reason="a control"),
            "compile:sm_90": ground(loaded),
            "interpreter": ground(loaded, {"with-skill/01": {"n=1": OLD}}),
        },
    )
    verdict = hold(loaded.experiment, now, (("e", recorded),))
    found = summary.unjudged(verdict)
    assert found == [
        Unjudged(("device",), 8, True, "no GPU"),
        Unjudged(("compile:sm_75", "compile:sm_90"), 8, True, "no recorded evidence for this ground"),
        Unjudged(("compile:sm_80",), 8, True, "a control"),
        Unjudged(("interpreter",), 2, False, "not run when recorded: needs sm_90"),
        Unjudged(("interpreter",), 1, False, "not run here: needs sm_90"),
    ]
    assert sum(left.cells * len(left.grounds) for left in found) == 35


def test_differences_are_grouped(loaded: Loaded) -> None:
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    now = evidence(
        loaded,
        {
            "interpreter": ground(
                loaded, {"with-skill/01": WRONG_VALUES, "control-wrong/control-wrong": PASSED}
            )
        },
    )
    assert summary.differences(hold(loaded.experiment, now, (("e", recorded),))) == [
        ("interpreter", "with-skill/01", "passed", "wrong", ("n=1", "n=100"), "2 of 100 elements"),
        ("interpreter", "control-wrong/control-wrong", "wrong", "passed", ("n=1", "n=100"), ""),
    ]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("é漢字 ok", "é漢字 ok"),
        ("a\nb\tc", "a⏎b c"),
        ("\x1b[31m\x00\x7f\x9b", r"\x1b[31m\x00\x7f\x9b"),
        ("\u202e\u2028\ufeff", r"\u202e\u2028\ufeff"),
        ("\ud800", r"\ud800"),
        ("x" * 401, "x" * 400 + "…"),
        ("x" * 400, "x" * 400),
    ],
)
def test_plain(text: str, safe: str) -> None:
    assert plain(text) == safe


def test_counts_and_lists_in_words() -> None:
    assert [count(n, "cell") for n in (0, 1, 1200)] == ["0 cells", "1 cell", "1,200 cells"]
    assert count(2, "entry", "entries") == "2 entries"
    assert few(["a", "b"]) == "a, b"
    assert few([*"abcdefgh"]) == "a, b, c, d, e, f and 2 more"


def test_answers_of_an_arm_that_fail_alike_share_a_line(small: Small) -> None:
    outputs = [
        small.file(f"outputs/with-skill/0{n}.md", answer(b"def double(x):\n    return x + x\n"))
        for n in (1, 2, 3)
    ]
    small.arm("with-skill")["outputs"] = outputs
    loaded = small.load()
    broken = {"with-skill/01": UNCOMPILABLE, "with-skill/03": UNCOMPILABLE, "without-skill/01": UNCOMPILABLE}
    now = evidence(loaded, {"compile:sm_90": ground(loaded, broken), "interpreter": ground(loaded)})
    compiled, interpreted = summary.groups(now)
    found = [(t.who, t.kind) for t in summary.troubles(compiled) if not t.candidate.startswith("control")]
    assert found == [("without-skill/01", "failed (compile)"), ("with-skill/01, 03", "failed (compile)")]
    apart = [d.who for d in summary.disagreements([compiled, interpreted])]
    assert apart == ["without-skill/01", "with-skill/01, 03"]
