"""Each experiment's HTML report in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.experiment.load import load
from bundler.model.outcome import NotRun, Passed
from bundler.report.across import Column, Facts
from bundler.report.gather import gather
from bundler.report.html.page import page
from bundler.report.markdown import first_line
from tests.report.browser import Browser, axe_finds_nothing, read, served

PROOF = Path(__file__).parents[2] / "proof"
ENTRIES = sorted(path.parent for path in PROOF.glob("*/*/experiment.yaml"))
ROWS = (
    "return [...document.querySelectorAll('#matrix tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
)


@pytest.mark.browser
@pytest.mark.parametrize("folder", ENTRIES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_reader_of_every_entry(folder: Path, window: Browser, tmp_path: Path) -> None:
    """Headline, matrix and deviations stand there; nothing is fetched; it stays within a phone's width."""
    facts = gather(load(folder))
    (tmp_path / "report.html").write_text(page(facts))
    with served(tmp_path) as (address, asked):
        window.size(390, 844)
        window.open(f"{address}/report.html")
        window.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        widths = window.run("return [document.documentElement.scrollWidth, document.body.scrollWidth]")
        (headline,), (deviations,) = read(window, "h1"), read(window, "#deviations")
        rows = window.run(ROWS)
        assert window.run("return performance.getEntriesByType('resource').length") == 0
        assert asked == ["/report.html"]
    assert widths == [390, 390]
    assert headline == first_line(facts)
    assert [row[0].splitlines()[0] for row in rows] == [arm.name for arm in facts.loaded.experiment.arms]
    assert [row[1:] for row in rows] == [
        [_cell(facts, arm.name, c) for c in facts.columns] for arm in facts.loaded.experiment.arms
    ]
    if facts.loaded.experiment.plan is None:
        assert "nothing can deviate" in deviations
    else:
        assert len(read(window, "#deviations tbody tr")) == len(facts.deviations)


def _cell(facts: Facts, arm: str, column: Column) -> str:
    """What stands in the matrix: counted from the evidence here, not by what the page counts with."""
    ids = [c.id for c in facts.loaded.experiment.candidates() if c.arm.name == arm]
    outcomes = [o for one in ids for o in column.group.report.cells.get(one, {}).values()]
    judged = [o for o in outcomes if not isinstance(o, NotRun)]
    passed = sum(isinstance(o, Passed) for o in judged)
    if not judged:
        return "not run"
    sign = "" if arm.startswith(("control", "source")) else "✓ " if passed == len(judged) else "✗ "
    return f"{sign}{passed}/{len(judged)}"


@pytest.mark.browser
@pytest.mark.network
@pytest.mark.parametrize("folder", ENTRIES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_axe_finds_nothing_in_any_entry(folder: Path, window: Browser, tmp_path: Path, axe: str) -> None:
    scheme = ("light", "dark")[ENTRIES.index(folder) % 2]
    axe_finds_nothing(gather(load(folder)), window, tmp_path, axe, scheme)
