"""The walk: frames in order, nothing but shapes and text, still for whoever asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bundler.experiment.load import load
from bundler.report.across import Facts
from bundler.report.gather import gather
from bundler.report.markdown import first_line
from bundler.report.pages import outdated, pages, proof
from bundler.report.walk import walk
from tests.report.browser import Browser, browser
from tests.small import UNCOMPILABLE, Small, evidence, ground

ROW_MAX = Path(__file__).parents[2] / "proof/portability/row-max"
SVG = "{http://www.w3.org/2000/svg}"
OPACITIES = "return [...document.querySelectorAll('.frame')].map(f => Number(getComputedStyle(f).opacity))"


@pytest.fixture(scope="module")
def facts() -> Facts:
    return gather(load(ROW_MAX))


def frames(svg: str) -> list[str]:
    """The text of each frame."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return [" ".join(group.itertext()) for group in found if "frame" in (group.get("class") or "")]


def test_before_after_and_what_came_of_it(facts: Facts) -> None:
    before, after, later, last = frames(walk(facts))
    assert "without-skill: without the skill" in before
    assert "with-skill: with the skill 0.1.0" in after
    assert "with-skill-0.2.0: with the skill 0.2.0" in later
    assert all(f"{name}/01" in text for name, text in (("without-skill", before), ("with-skill", after)))
    assert "device (h200): 108 of 108 cells that ran passed" in before
    assert first_line(facts) in re.sub(r"\s+", " ", last)
    assert "reconstructed" not in walk(facts)  # no model wrote it in answer to the prompt


def test_it_is_a_picture_and_no_more(facts: Facts) -> None:
    svg = walk(facts)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root.findtext(f"{SVG}desc") == first_line(facts)
    kinds = {"svg", "title", "desc", "style", "rect", "defs", "g", "use", "text"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == kinds
    links = [value for e in root.iter() for name, value in e.attrib.items() if "href" in name]
    assert links
    assert all(value.startswith("#") for value in links)
    assert not re.search(r"url\(|@import|\bon[a-z]+=", svg)
    assert svg == walk(gather(load(ROW_MAX)))


def test_only_who_does_not_ask_for_less_motion_sees_it_move(facts: Facts) -> None:
    still, moving = walk(facts).split("@media (prefers-reduced-motion:no-preference)")
    assert "animation:" not in still
    assert ".frame{opacity:0}.last{opacity:1}" in still
    turns = re.findall(r"\.f(\d)\{animation:(\w+) 15s linear (-\d+)s infinite\}", moving)
    assert turns == [("0", "turn", "-15"), ("1", "turn", "-12"), ("2", "turn", "-9"), ("3", "turns", "-6")]


def test_each_outcome_stands_where_it_was(small: Small) -> None:
    loaded = small.load()
    outcomes = {"with-skill/01": {"n=100": UNCOMPILABLE}}
    seen = evidence(loaded, {"interpreter": ground(loaded, outcomes)})
    svg = walk(Facts(loaded, (("<b>&", seen),)))
    before, after, _ = frames(svg)
    assert "2 of 2 cells" in before
    assert "1 of 2 cells" in after
    assert "interpreter (<b>&)" in after  # as the parser gives it back
    rows = {g.get("id"): [use.get("href") for use in g] for g in ElementTree.fromstring(svg).iter(f"{SVG}g")}
    assert (rows["r0"], rows["r1"]) == (["#passed", "#passed"], ["#passed", "#failed"])
    drawn = re.findall(r'<use href="#(r\d)" transform', svg)
    assert drawn == ["r0", "r1"]


def test_without_a_judged_kernel_there_is_none_and_an_old_one_is_stale(small: Small) -> None:
    facts = gather(small.load())
    assert walk(facts) == ""
    made = pages(facts)
    assert "charts/walk.svg" not in made
    assert "walk.svg" not in proof(facts)
    (small.folder / "charts").mkdir()
    (small.folder / "charts/walk.svg").write_text("")
    assert "charts/walk.svg" in outdated(small.folder, made)


def test_the_entrys_page_begins_with_it(facts: Facts) -> None:
    assert proof(facts).index("(charts/walk.svg)") < proof(facts).index("## Summary")


# --- in a browser ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.mark.browser
def test_one_frame_at_a_time(window: Browser, facts: Facts, tmp_path: Path) -> None:
    file = tmp_path / "walk.svg"
    file.write_text(walk(facts))
    window.size(840, 420)
    window.open(file.as_uri())
    pictures = []
    for turn, shown in enumerate([0, 1, 2, 3, 3, 0]):
        at = 3000 * turn + 1500
        window.run(
            f"document.getAnimations().forEach(a => {{ a.pause(); a.currentTime = {at}; }})",
        )
        assert window.run(OPACITIES) == [float(frame == shown) for frame in range(4)]
        pictures.append(window.screenshot())
    assert len(set(pictures)) == 4
    wide = "const all = document.documentElement.viewBox.baseVal.width;"
    inside = (
        "return [...document.querySelectorAll('.frame')].every(f => f.getBBox().x + f.getBBox().width < all)"
    )
    assert window.run(wide + inside)


@pytest.mark.browser
def test_with_less_motion_the_last_frame_stands(window: Browser, facts: Facts, tmp_path: Path) -> None:
    file = tmp_path / "walk.svg"
    file.write_text(walk(facts))
    reduced = {"name": "prefers-reduced-motion", "value": "reduce"}
    window.command("Emulation.setEmulatedMedia", features=[reduced])
    window.open(file.as_uri())
    assert window.run("return document.getAnimations().length") == 0
    assert window.run(OPACITIES) == [0, 0, 0, 1]
