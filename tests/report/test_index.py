"""The index says what an entry shows, and never more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bundler.cli.index import PAGE, gather
from bundler.digest import Digest
from bundler.experiment.load import Loaded
from bundler.experiment.skill_versions import Current, current
from bundler.judge.statistics import Shows
from bundler.model.evidence import Evidence
from bundler.model.outcome import Outcome
from bundler.report.index import Entry, Index, Source, index
from bundler.report.index_page import markdown, word
from bundler.skills import Skill
from bundler.skills.types import Frontmatter, Metadata
from tests.small import GUIDANCE, PASSED, SKILL, WRONG_VALUES, Small, answer, evidence, ground

ROOT = Path(__file__).parents[2]


def skill() -> Skill:
    line = "Doubles."
    return Skill(
        frontmatter=Frontmatter(name="doubling", description=line, version="0.1.0"),
        metadata=Metadata(
            id="toy.doubling",
            name="doubling",
            category="toy",
            summary=line,
            tags=("double",),
            difficulty="advanced",
            hardware=("nvidia",),
            languages=("triton",),
            version="0.1.0",
            entry="skills/toy/doubling/SKILL.md",
        ),
        guidance=GUIDANCE,
    )


def runs(small: Small, count: int) -> None:
    for name in ("without-skill", "with-skill"):
        small.arm(name)["outputs"] = [
            small.file(f"outputs/{name}/{n:02}.md", answer()) for n in range(1, count + 1)
        ]


def recorded(small: Small, arm: str, outcome: Outcome, on: str = "device") -> Loaded:
    """Evidence in which every output of ``arm`` gave ``outcome``, and everything else passed."""
    loaded = small.load()
    wrong = {c.id: outcome for c in loaded.experiment.candidates() if c.arm.name == arm}
    small.record(evidence(loaded, {on: ground(loaded, wrong)}))
    return small.load()


CURRENT = Current("0.1.0", "skills/toy/doubling/SKILL.md", GUIDANCE)


def page(loaded: Loaded, *kept: tuple[str, Evidence], stale: str = "", now: Current = CURRENT) -> Index:
    return index([(skill(), now)], [Source(loaded, stale_since=stale)], kept)


def entry(found: Index) -> Entry:
    ((only,),) = [row.entries for row in found.skills]
    return only


# --- what an entry shows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "losing", "shows", "said"),
    [
        (4, "without-skill", Shows.HELPS, "helps"),
        (4, "with-skill", Shows.HURTS, "**hurts** (negative result)"),
        (3, "with-skill", Shows.TOO_FEW, "fewer with it, too few runs to tell"),
        (3, "without-skill", Shows.TOO_FEW, "more with it, too few runs to tell"),
        (3, "no-arm", Shows.NO_DIFFERENCE, "no difference seen; too few runs to tell more"),
        (4, "no-arm", Shows.NO_DIFFERENCE, "no difference seen"),
    ],
)
def test_shows(small: Small, count: int, losing: str, shows: Shows, said: str) -> None:
    runs(small, count)
    found = page(recorded(small, losing, WRONG_VALUES))
    assert entry(found).shows is shows
    assert word(entry(found)) == said
    assert found.skills[0].shows == (shows,)


def test_a_negative_result_reads_as_one_wherever_it_stands(small: Small) -> None:
    runs(small, 4)
    text = markdown(page(recorded(small, "with-skill", WRONG_VALUES)))
    body = text.partition("## Skills")[2]
    assert body.count("negative result") == 3
    assert "helps" not in body
    assert "0 of 4 against 4 of 4: hurts, a negative result (Fisher's exact p = 0.029)." in body


def test_nothing_is_counted_without_evidence(small: Small) -> None:
    found = page(small.load())
    assert entry(found).shows is Shows.NONE_YET
    assert "Nothing is recorded yet." in markdown(found)
    assert index([(skill(), CURRENT)], [], []).skills[0].shows == (Shows.NONE_YET,)


def test_the_interpreter_alone_shows_nothing(small: Small) -> None:
    runs(small, 4)
    found = page(recorded(small, "without-skill", WRONG_VALUES, on="interpreter"))
    assert entry(found).shows is Shows.NONE_YET
    assert "interpreter (not counted)" in markdown(found)


def test_reconstruction_only(small: Small) -> None:
    arm = small.arm("with-skill")
    del arm["prompt_sha256"], arm["skill"]
    arm["origin"] = "reconstructed"
    arm["outputs"] = [small.file("reconstructed/01.py", answer())]
    found = page(recorded(small, "with-skill", WRONG_VALUES))
    assert entry(found).shows is Shows.RECONSTRUCTION_ONLY
    assert "1 reconstruction, written afterwards, not counted." in markdown(found)


def test_stale(small: Small) -> None:
    runs(small, 4)
    found = page(recorded(small, "without-skill", WRONG_VALUES), stale="0.2.0")
    assert entry(found).shows is Shows.STALE
    assert "stale: not run with 0.2.0" in markdown(found)


def test_the_word_is_that_of_the_current_skill(small: Small) -> None:
    """A fixed skill does not clear the one before it, nor the other way around."""
    runs(small, 4)
    newer = b"# Doubling, better\n"
    small.put("skills/toy/doubling/SKILL-0.2.0.md", newer)
    state = {"path": "skills/toy/doubling/SKILL-0.2.0.md", "version": "0.2.0", "sha256": Digest.of(newer)}
    outputs = [small.file(f"outputs/fixed/{n:02}.md", answer()) for n in range(1, 5)]
    fixed = small.arm("with-skill") | {"name": "fixed", "skill": state, "outputs": outputs}
    fixed["prompt_sha256"] = Digest.of(newer + b"\nDouble x.\n")
    small.declared["arms"].insert(2, fixed)
    loaded = recorded(small, "with-skill", WRONG_VALUES)
    assert entry(page(loaded)).shows is Shows.HURTS
    now = Current("0.2.0", "skills/toy/doubling/SKILL-0.2.0.md", newer)
    found = page(loaded, now=now)
    assert entry(found).shows is Shows.NO_DIFFERENCE
    assert "| [doubling](../skills/toy/doubling/SKILL-0.2.0.md) | 0.2.0 |" in markdown(found)


def test_the_current_version_is_the_newest_to_the_index_as_to_staleness(small: Small) -> None:
    text = b"---\nname: doubling\ndescription: Doubles.\nversion: %s\n---\n"
    small.put(f"skills/{SKILL}/SKILL.md", text % b"0.9.0")
    small.put(f"skills/{SKILL}/SKILL-0.10.0.md", text % b"0.10.0")
    now = current(small.root, SKILL)
    assert now == Current("0.10.0", f"skills/{SKILL}/SKILL-0.10.0.md", text % b"0.10.0")
    assert current(small.root, "toy/none") is None


def test_a_difference_that_may_be_chance_has_its_direction(small: Small) -> None:
    runs(small, 4)
    loaded = small.load()
    once = ground(loaded, {"with-skill/01": WRONG_VALUES})
    small.record(evidence(loaded, {"device": once}))
    found = page(small.load())
    assert word(entry(found)) == "fewer with it, which may be chance"
    assert "3 of 4 against 4 of 4: fewer with it, which may be chance (Fisher's exact p = 1)." in markdown(
        found
    )


def test_what_was_only_compiled_did_not_pass(small: Small) -> None:
    text = markdown(page(recorded(small, "no-arm", PASSED, on="compile:sm_90")))
    assert "| without-skill: 1 of 1 compiled<br>with-skill: 1 of 1 compiled |" in text
    small.declared["evidence"] = []
    assert "1 of 1 compiled" not in markdown(page(recorded(small, "no-arm", PASSED)))


# --- hosts -----------------------------------------------------------------------------------------------


def test_hosts(small: Small) -> None:
    loaded = recorded(small, "no-arm", PASSED)
    same = loaded.recorded[0][1]
    differs = evidence(loaded, {"device": ground(loaded, {"with-skill/01": WRONG_VALUES})})
    subject = same.subject.model_copy(update={"harness": Digest.of(b"another")})
    of_another = same.model_copy(update={"subject": subject})
    elsewhere = same.model_copy(
        update={"subject": same.subject.model_copy(update={"experiment": "toy/other"})}
    )
    kept = [("docs/a", same), ("docs/b", differs), ("docs/c", of_another), ("docs/d", elsewhere)]
    hosts = entry(page(loaded, *kept)).hosts
    assert [(h.link, h.recorded, h.reproduced) for h in hosts] == [
        ("proof/toy/double/evidence/host.json", True, False),
        ("docs/a", False, True),
        ("docs/b", False, False),
        ("docs/c", False, False),
    ]
    assert [h.said for h in hosts][1:3] == [
        "4 of 4 cells reproduced, 0 differ",
        "2 of 4 cells reproduced, 2 differ",
    ]
    assert hosts[3].said.startswith("not counted: it is of another harness")
    assert "no GPU, Some CPU: recorded, reproduced, not reproduced" in markdown(page(loaded, *kept))


def _only(loaded: Loaded, candidates: list[str], cases: tuple[str, ...] | None = None) -> Evidence:
    """A replay of these candidates and cases alone."""
    whole = loaded.recorded[0][1]
    report = whole.grounds["device"]
    rows = {
        name: {case: report.cells[name][case] for case in cases or report.cells[name]} for name in candidates
    }
    digests = {name: whole.subject.candidates[name] for name in candidates}
    return whole.model_copy(
        update={
            "grounds": {"device": report.model_copy(update={"cells": rows})},
            "settings": whole.settings.model_copy(update={"candidates": tuple(candidates), "cases": cases}),
            "subject": whole.subject.model_copy(update={"candidates": digests}),
        }
    )


def test_a_replay_of_controls_alone_reproduces_nothing(small: Small) -> None:
    loaded = recorded(small, "no-arm", PASSED)
    controls = [c.id for c in loaded.experiment.candidates() if c.arm.expect is not None]
    found = page(loaded, ("docs/a", _only(loaded, controls)))
    assert [h.said for h in entry(found).hosts][1] == "0 of 4 cells reproduced, 0 differ"
    assert "no GPU, Some CPU: recorded, not reproduced |" in markdown(found)


def test_a_replay_of_some_cells_reproduces_in_part(small: Small) -> None:
    loaded = recorded(small, "no-arm", PASSED)
    everyone = [c.id for c in loaded.experiment.candidates()]
    for some in (_only(loaded, everyone, ("n=1",)), _only(loaded, [*everyone[2:], "with-skill/01"])):
        found = page(loaded, ("docs/a", some))
        assert "no GPU, Some CPU: recorded, partly reproduced: 2 of 4 cells |" in markdown(found)


def test_a_file_name_is_no_markup(small: Small) -> None:
    loaded = recorded(small, "no-arm", PASSED)
    name = "x](y) | **helps** | <img src=q> [z @me \x1b[31m\n\u202e.json.gz"
    text = markdown(page(loaded, (f"docs/reverifications/{name}", loaded.recorded[0][1])))
    (line,) = [line for line in text.split("\n") if "docs/reverifications/" in line]
    assert line.startswith("| ")
    shown, _, link = line.rpartition("](")
    assert re.search(r"(?<!\\)[][<*]", shown.rpartition(" | [")[2]) is None
    assert "@m" not in shown
    assert re.fullmatch(r"[A-Za-z0-9%./_-]+\) \|", link)
    assert not set(text) & {"\x1b", "\u202e"}


@pytest.mark.parametrize("title", ["# a", "1. a", "- a", "+ a", "> a", "@someone", "https://a.example"])
def test_a_title_begins_nothing(small: Small, title: str) -> None:
    small.declared["title"] = title
    text = markdown(page(small.load())).partition("## toy/double")[2]
    inline = MarkdownIt("commonmark").parse(text)
    assert [token.type for token in inline[:3]] == ["paragraph_open", "inline", "paragraph_close"]
    assert "@s" not in text
    assert "https://" not in text


def test_a_title_is_no_markup(small: Small) -> None:
    small.declared["title"] = "a | b <img src=x>\u202e [x](y)"
    text = markdown(page(small.load()))
    assert r"a \| b &lt;img src=x&gt;\\u202e \[x\](y)" in text


# --- this repository -------------------------------------------------------------------------------------


def test_up_to_date() -> None:
    assert (ROOT / PAGE).read_text() == markdown(gather(ROOT)), "run: bundler index"


def test_row_max_claims_nothing() -> None:
    found = gather(ROOT)
    row_max = next(e for row in found.skills for e in row.entries if e.id == "portability/row-max")
    assert row_max.shows is Shows.NO_DIFFERENCE
    assert all(contrast.too_few for contrast in row_max.contrasts)
    assert len(found.skills) == 12


def test_links_lead_somewhere() -> None:
    text = (ROOT / PAGE).read_text()
    links = {part.partition(")")[0] for part in text.split("](")[1:]}
    assert [link for link in links if not link.startswith("#") and not (ROOT / "proof" / link).exists()] == []
