"""The HTML page: self-contained, in order, safe; and, in a browser, what a reader sees."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bundler.experiment.load import Loaded, load
from bundler.model.host import Gpu, Host, Read
from bundler.model.outcome import Crashed, Failed, NotRun, Passed, Phase, TimedOut, Unstable, Why, Wrong
from bundler.report import charts, plots, signs
from bundler.report.across import Facts, Point, Series, columns, exact, points
from bundler.report.gather import gather
from bundler.report.html.author import rendered
from bundler.report.html.heat import heat_map
from bundler.report.html.page import page
from bundler.report.pages import error_charts
from tests.report.browser import Browser, axe_finds_nothing, read, served
from tests.report.test_markdown import GPU, MARKUP, PLAN
from tests.report.test_terminal import FORGERIES
from tests.small import PASSED, UNCOMPILABLE, WRONG_VALUES, Small, answer, evidence, ground

ROW_MAX = Path(__file__).parents[2] / "proof/portability/row-max"
TOLERANT = {"atol": 1e-6, "rtol": 1e-5, "nan": "forbidden", "reason": "rounding"}
FETCHING = {"src", "srcset", "data", "poster", "action", "formaction", "background", "ping"}
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Parsed(html.parser.HTMLParser):
    """What has to be known of a page; an end tag that closes nothing is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.tables: list[int] = []
        """Header cells of each table."""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append(0)
        if tag == "th":
            assert dict(attrs).get("scope") in ("row", "col", "colgroup")
            self.tables[-1] += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def levels(self) -> list[int]:
        return [int(tag[1]) for tag, _ in self.tags if re.fullmatch("h[1-6]", tag)]


@pytest.fixture
def deviating(small: Small) -> Facts:
    """A plan that was not kept, a tolerance, a skill that breaks, and an analysis."""
    small.declared["plan"] = PLAN
    note = {"field": "hardware", "note": "The T4 was not to be had.", "load_bearing": "timing"}
    small.declared["deviations"] = [note]
    small.declared["returns"] = [{"name": "out", "dtype": "float32", "compare": TOLERANT}]
    other = answer(b"import torch\n\n\ndef double(x):\n    return x + x  # <b>&amp;</b>\n")
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", other)]
    loaded = small.load()
    wrong = Wrong(what="values", call=0, detail="3 of 100", error=250.0)
    outcomes = {
        "without-skill/01": {"n=1": Passed(error=0.0), "n=100": Passed(error=0.25)},
        "with-skill/01": {"n=1": UNCOMPILABLE, "n=100": wrong},
    }
    small.record(evidence(loaded, {"device": ground(loaded, outcomes)}, host=GPU), "laptop")
    (small.folder / "analysis.md").write_text(
        "# Why\n\n### Deeper\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n    x\n"
    )
    return gather(small.load())


@pytest.fixture(scope="module")
def row_max() -> Loaded:
    return load(ROW_MAX)


@pytest.fixture
def facts(request: pytest.FixtureRequest) -> Facts:
    if request.param == "row-max":
        return gather(request.getfixturevalue("row_max"))
    found: Facts = request.getfixturevalue("deviating")
    return found


both = pytest.mark.parametrize("facts", ["row-max", "deviating"], indirect=True)


# --- without a browser -----------------------------------------------------------------------------


@both
def test_nothing_is_fetched_and_nothing_runs(facts: Facts) -> None:
    text = page(facts)
    for tag, attributes in Parsed(text).tags:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "base", "form")
        assert not FETCHING & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "a" and not (attributes["href"] or "").startswith("#"):
            # Only the author's words link anywhere, and only when they are followed.
            assert re.match("https?://", attributes["href"] or "")
    assert "url(" not in text.split("<body>")[0]
    assert "@import" not in text
    assert "default-src 'none'" in text


@both
def test_headings_are_in_order_and_tables_have_headers(facts: Facts) -> None:
    parsed = Parsed(page(facts))
    assert parsed.levels[0] == 1
    assert parsed.levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(parsed.levels, parsed.levels[1:], strict=False))
    assert len(parsed.tables) > 4
    assert min(parsed.tables) > 0
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"] for tag, a in parsed.tags if tag == "a" and str(a["href"]).startswith("#")}
    assert {f"#{name}" for name in ids} >= targets


def test_a_cell_that_was_not_run_says_why(small: Small) -> None:
    loaded = small.load()
    outcomes = {"with-skill/01": {"n=1": NotRun(why=Why.NO_LAUNCH)}}
    facts = gather(loaded, [("x.json", evidence(loaded, {"device": ground(loaded, outcomes)}))])
    cell = '<td class="o-not-run" title="not-run: no-launch"><span aria-hidden="true">·</span>'
    assert page(facts).count(cell) == 1


def test_cases_that_look_alike_are_one_row_and_cases_of_which_nothing_ran_none(small: Small) -> None:
    small.declared["cases"] = [{"id": "n={n}", "axes": [[{"n": n} for n in range(1, 6)]]}]
    loaded = small.load()
    unrun = NotRun(why=Why.NO_LAUNCH)
    ran = {c: WRONG_VALUES if c.startswith("control-wrong") else Passed() for c in loaded.sources}
    mixed = {c: {f"n={n}": it if n < 3 else unrun for n in range(1, 6)} for c, it in ran.items()}
    grounds = {"device": ground(loaded, mixed), "compile:sm_90": ground(loaded)}
    facts = gather(loaded, [("x.json", evidence(loaded, grounds))])
    device, compiled = (heat_map(facts, column) for column in facts.columns)
    assert ([case for case, _ in device.rows], device.left_out) == (["n=1", "n=2"], 3)
    assert ([case for case, _ in compiled.rows], compiled.left_out) == (["all 5 cases"], 0)
    assert "3 cases of which nothing ran here" in page(facts)


def test_the_same_facts_give_the_same_page(deviating: Facts) -> None:
    assert page(deviating) == page(deviating)


def test_an_experiment_without_evidence_has_a_page(small: Small) -> None:
    parsed = Parsed(page(gather(small.load())))
    assert "No cell ran here." in parsed.text
    assert "No evidence has a cell on the device ground." in parsed.text


def test_what_is_shown_of_a_plan_that_was_not_kept(deviating: Facts) -> None:
    text = "".join(Parsed(page(deviating)).text)
    assert "1 of 1 without the skill and 0 of 1 with the skill 0.1.0 are right" in text
    assert "on a GPU (NVIDIA GeForce RTX 3050 Laptop GPU)" in text
    assert "Tesla T4" in text
    assert "The T4 was not to be had." in text
    assert "no note" in text
    assert "return x + x  # <b>&amp;</b>" in text


@pytest.mark.parametrize("text", [*FORGERIES.values(), *MARKUP.values()], ids=[*FORGERIES, *MARKUP])
def test_nothing_can_be_forged(small: Small, text: str) -> None:
    plain_tags = _tags(small, "x")
    assert _tags(small, text) == plain_tags


def _tags(small: Small, text: str) -> list[str]:
    small.declared |= {"title": text, "notes": text, "plan": {"hardware": [text + "x"]}, "evidence": []}
    small.declared["deviations"] = [{"field": "hardware", "note": text, "load_bearing": "none"}]
    loaded = small.load()
    outcomes = {"with-skill/01": Failed(phase=Phase.RUN, error=text)}
    gone = ground(loaded, {}, status="not-available", reason=text, cells={})
    host = Host(
        system={"os": Read(value=text, call="c")},
        software={text: text},
        gpus=(Gpu(index=0, fields={"name": Read(value=text, call="n")}),),
        no_gpu=text,
    )
    now = evidence(loaded, {"device": ground(loaded, outcomes), "interpreter": gone}, host=host)
    shown = page(gather(loaded, [("x.json", now)]))
    parsed = Parsed(shown)
    assert {c for c in shown if c != "\n" and not c.isprintable()} == set()
    assert [line for line in shown.splitlines() if line.startswith("REPRODUCED")] == []
    return [tag for tag, _ in parsed.tags]


def test_an_authors_words_are_no_markup_of_the_page() -> None:
    hostile = (
        "<script>x</script>\n\n![a](http://e/x.png)\n\n[b](javascript:x)\n\n# A\n\n#### B\n\n\x1b[1m\u202e\n"
    )
    shown = rendered(hostile)
    parsed = Parsed(shown)
    assert {tag for tag, _ in parsed.tags} == {"p", "h3", "h4", "a"}
    assert [a for tag, a in parsed.tags if tag == "a"] == [{"href": "http://e/x.png"}]
    assert r"\x1b[1m\u202e" in "".join(parsed.text)


def test_the_empty_corner_of_an_authors_table_is_no_heading() -> None:
    parsed = Parsed(rendered("| | a |\n|---|---|\n| b | 1 |\n"))
    assert [tag for tag, _ in parsed.tags if tag in ("th", "td")] == ["td", "th", "td", "td"]


# --- charts ----------------------------------------------------------------------------------------


def test_errors_are_drawn_against_size_where_there_is_a_tolerance(deviating: Facts) -> None:
    assert not exact(deviating.loaded)
    (column,) = deviating.columns
    drawn = [p for p in points(deviating.loaded, column) if p.series is not Series.OTHER]
    assert [(p.candidate, p.size, p.error, p.passed) for p in drawn] == [
        ("without-skill/01", 1, 0.0, True),
        ("without-skill/01", 100, 0.25, True),
        ("with-skill/01", 100, 250.0, False),
    ]
    ((name, _, svg),) = error_charts(deviating)
    assert name == "errors-device-laptop.svg"
    assert ">tolerance<" in svg
    assert len(re.findall('class="ok"', svg)) == 2
    assert len(re.findall('class="bad"', svg)) == 3  # and the control's two
    assert ">beyond<" in svg  # which have no finite error


def test_an_empty_case_has_no_place_on_a_log_axis(small: Small) -> None:
    small.declared["cases"] = [{"id": "n={n}", "axes": [[{"n": 0}, {"n": 8}]]}]
    loaded = small.load()
    outcomes = {"with-skill/01": Passed(error=0.5), "control-wrong/control-wrong": PASSED}
    (column,) = columns((("host", evidence(loaded, {"device": ground(loaded, outcomes)})),))
    assert [point.size for point in points(loaded, column)] == [8]


def test_higher_errors_are_drawn_higher_and_the_tolerance_between() -> None:
    made = [Point("a/1", Series.WITH, 10, error, error <= 1) for error in (0.0, 0.5, 20.0)]
    svg = charts.errors(made, "t", "n")
    zero, small_ = [float(y) for y in re.findall(r'class="ok" d="M\S+ ([^m]*)m', svg)]
    (limit,) = [float(y) for y in re.findall('class="limit"[^>]* y1="([^"]*)"', svg)]
    (large,) = [float(y) for y in re.findall(r'class="bad" d="M\S+ ([^m]*)m', svg)]
    assert large < limit < small_ < zero


def test_an_exact_comparison_says_so_instead(row_max: Loaded) -> None:
    facts = gather(row_max)
    assert error_charts(facts) == []
    assert "Every comparison of this experiment is exact" in page(facts)


def test_a_chart_names_every_sign_and_escapes(small: Small) -> None:
    loaded = small.load()
    (column,) = columns((("<b>&", evidence(loaded, {"interpreter": ground(loaded)})),))
    svg = charts.heat_map(loaded, column)
    Parsed(svg)
    assert "&lt;b&gt;&amp;" in svg
    assert "✓ passed, ≠ wrong" in svg
    assert re.findall('<use href="#([a-z]+)" x="0"/>', svg) == ["passed"]
    assert re.findall('<use href="#(r[0-9]+)"', svg) == ["r0", "r0"]  # both cases are alike
    assert charts.file_name(column) == "heatmap-interpreter--b-.svg"


def test_plots_are_written_twice_alike(deviating: Facts) -> None:
    made = plots.files(deviating)
    stems = ("heatmap-device-laptop", "errors-device-laptop")
    assert set(made) == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")} | {"walk.svg"}
    again = plots.files(deviating)
    assert {name for name in made if made[name] != again[name]} == set()
    assert all(data.startswith(b"\x89PNG") for name, data in made.items() if name.endswith(".png"))


def test_every_sign_can_be_drawn(small: Small) -> None:
    """A glyph that matplotlib's own font lacks is a warning, and so an error here."""
    loaded = small.load()
    outcomes = {
        "without-skill/01": {"n=1": UNCOMPILABLE, "n=100": NotRun(why=Why.NEEDS)},
        "with-skill/01": {"n=1": Crashed(detail="x"), "n=100": TimedOut(limit_seconds=1)},
        "control-wrong/control-wrong": {"n=1": Unstable(detail="x")},
    }
    facts = gather(loaded, [("x.json", evidence(loaded, {"device": ground(loaded, outcomes)}))])
    assert len(plots.files(facts)) == 3
    svg = charts.heat_map(loaded, facts.columns[0])
    assert all(f'href="#{name}"' in svg for name in signs.SIGNS)


def test_the_command_line_needs_neither_library() -> None:
    """The replayer in an image has neither."""
    script = (
        "import sys, bundler.cli.main; bundler.cli.main.app;"
        "print(sorted({'jinja2', 'matplotlib'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


# --- in a browser ----------------------------------------------------------------------------------


@pytest.mark.browser
@both
def test_a_reader_sees_headline_matrix_and_deviations(facts: Facts, window: Browser, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page(facts))
    with served(tmp_path) as (address, asked):
        window.size(1280, 900)
        window.open(f"{address}/report.html")
        (headline,) = read(window, "h1")
        names = read(window, "#matrix tbody th")
        cells = read(window, "#matrix tbody tr:nth-child(2) td")
        deviations = read(window, "#deviations tbody tr")
        assert window.run("return performance.getEntriesByType('resource').length") == 0
        assert asked == ["/report.html"]
    assert [name.splitlines()[0] for name in names] == [arm.name for arm in facts.loaded.experiment.arms]
    if facts.loaded.experiment.id == "portability/row-max":
        assert headline.startswith("All 9 kernels that the model wrote are right in every case on a GPU")
        assert cells == ["✓ 108/108", "✓ 105/105", "✓ 102/102"]
        assert deviations == []
    else:
        assert headline.startswith("Of the kernels that the model wrote, 1 of 1 without the skill and 0 of 1")
        assert cells == ["✗ 0/2"]
        assert [" ".join(line.split()) for line in deviations] == [
            "hardware Tesla T4 NVIDIA GeForce RTX 3050 Laptop GPU timing",
            "the author's note The T4 was not to be had.",
            "runs 4 2 not said",
            "no note of the author's",
        ]


@pytest.mark.browser
@both
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_does_not_scroll_sideways(facts: Facts, window: Browser, tmp_path: Path, width: int) -> None:
    (tmp_path / "report.html").write_text(page(facts))
    window.size(width, 844)
    window.open((tmp_path / "report.html").as_uri())
    window.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    widths = window.run(
        "return [innerWidth, document.documentElement.scrollWidth, document.body.scrollWidth]"
    )
    assert widths == [width, width, width]


@pytest.mark.browser
def test_a_phone_shows_every_note_whole(small: Small, window: Browser, tmp_path: Path) -> None:
    note = (
        "The T4 was not to be had, and what this laptop's GPU says of the timings is that they are its own."
    )
    (tmp_path / "report.html").write_text(page(_deviating(small, note)))
    window.size(390, 844)
    window.open((tmp_path / "report.html").as_uri())
    right, wide = window.run(
        "const t = document.querySelector('.deviations');"
        "return [Math.max(...[...t.querySelectorAll('td')].map(c => c.getBoundingClientRect().right)),"
        " Math.max(...[...t.querySelectorAll('th,td')].map(c => c.scrollWidth - c.clientWidth))]"
    )
    assert right <= 390
    assert wide <= 0
    assert any(note in text for text in read(window, ".deviations td"))


def _deviating(small: Small, note: str) -> Facts:
    small.declared["plan"] = PLAN
    small.declared["deviations"] = [{"field": "hardware", "note": note, "load_bearing": "timing"}]
    small.record(evidence(small.load(), {"device": ground(small.load())}, host=GPU), "laptop")
    return gather(small.load())


@pytest.mark.browser
@pytest.mark.network
@both
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(facts: Facts, window: Browser, tmp_path: Path, axe: str, scheme: str) -> None:
    axe_finds_nothing(facts, window, tmp_path, axe, scheme)
