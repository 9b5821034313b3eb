"""The Markdown whole; its headline; what a stranger wrote is neither markup nor a line of its own."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from bundler.cli.main import app
from bundler.errors import BadEvidence, UnavailableError, UsageError
from bundler.experiment.load import Loaded, load
from bundler.model.evidence import Evidence, GroundReport, evidence_json
from bundler.model.experiment import Origin
from bundler.model.host import Gpu, Host, Read
from bundler.model.outcome import Failed, NotRun, Outcome, Passed, Phase, Why
from bundler.report.across import columns
from bundler.report.diff import MOST_LINES, lines, side_by_side
from bundler.report.gather import gather
from bundler.report.headline import headline, remarks
from bundler.report.markdown import pull_request
from bundler.report.markup import code, fence, prose, quotation
from bundler.report.pages import outdated, pages
from bundler.report.pairs import code_pairs
from tests.report.test_terminal import FORGERIES
from tests.small import (
    GUIDANCE,
    HOST,
    TASK,
    UNCOMPILABLE,
    WRONG_VALUES,
    Small,
    answer,
    evidence,
    ground,
)

ROOT = Path(__file__).parents[2]
ENTRIES = sorted(path.parent for path in ROOT.glob("proof/*/*/experiment.yaml"))
GOLDEN = Path(__file__).parent / "golden"
GPU = Host(
    system=HOST.system,
    software=HOST.software | {"torch": "2.13.0"},
    gpus=(
        Gpu(
            index=0,
            fields={
                "name": Read(value="NVIDIA GeForce RTX 3050 Laptop GPU", call="n"),
                "cuda_ordinal": Read(value=0, call="n"),
            },
        ),
    ),
)
PLAN = {"link": "issue 21", "date": "2026-10-01", "hardware": ["Tesla T4"], "runs": 4}


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if not path.exists():  # a new golden text: write it, read it, keep it
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} was not there and is written now: read it, then run again")
    assert text == path.read_text(encoding="utf-8")


def said(loaded: Loaded, **grounds: GroundReport) -> str:
    """The headline of one host's grounds; ``compile`` stands for sm_90."""
    named = {"compile:sm_90" if name == "compile" else name: report for name, report in grounds.items()}
    return headline(loaded.experiment, columns((("host", evidence(loaded, named)),)))


# --- the headline ----------------------------------------------------------------------------------


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
        "Both kernels that the model wrote compile, with and without the skill: no difference was seen; "
        "whether the values are right was not judged."
    )


def test_a_skill_that_breaks_every_case(loaded: Loaded) -> None:
    assert said(loaded, device=ground(loaded, {"with-skill/01": UNCOMPILABLE})) == (
        "The skill breaks 2 of 2 cases on a GPU, as seen in 1 answer with it and 1 without."
    )


def test_a_skill_that_mends_one(loaded: Loaded) -> None:
    report = ground(loaded, {"without-skill/01": {"n=100": WRONG_VALUES}})
    assert said(loaded, interpreter=report) == (
        "The skill mends 1 of 2 cases in Triton's interpreter, as seen in 1 answer with it and 1 without."
    )


def test_mixed_cases_are_only_counted(loaded: Loaded) -> None:
    mixed = {"without-skill/01": {"n=100": WRONG_VALUES}, "with-skill/01": {"n=1": WRONG_VALUES}}
    assert said(loaded, device=ground(loaded, mixed)) == (
        "Of the kernels that the model wrote, 0 of 1 without the skill and 0 of 1 with the skill 0.1.0 are "
        "right in every case on a GPU."
    )


def test_the_device_decides_and_the_interpreter_is_remarked(loaded: Loaded) -> None:
    grounds = {"device": ground(loaded), "interpreter": ground(loaded, {"without-skill/01": UNCOMPILABLE})}
    found = columns((("host", evidence(loaded, grounds)),))
    assert headline(loaded.experiment, found).endswith("no difference was seen there.")
    assert remarks(loaded.experiment, found) == [
        "On the ground interpreter (host), without-skill/01 did not pass every case; what the interpreter "
        "fails may be its own limit."
    ]


def test_a_case_that_did_not_run_is_no_pass(loaded: Loaded) -> None:
    unrun = {"with-skill/01": {"n=100": NotRun(why=Why.NEEDS)}}
    assert "are right in every case that ran on a GPU, with" in said(loaded, device=ground(loaded, unrun))


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
    assert said(loaded, device=gone) == "Nothing was judged here."
    unrun = dict.fromkeys(("without-skill/01", "with-skill/01"), NotRun(why=Why.NEEDS))
    assert said(loaded, device=ground(loaded, unrun)) == "No kernel that a model wrote was judged here."


def test_an_invalid_ground_says_nothing(loaded: Loaded) -> None:
    invalid = ground(loaded, {"with-skill/01": UNCOMPILABLE}, status="invalid", reason="a control passed")
    assert said(loaded, device=invalid).startswith("Nothing can be said: a control misbehaved")
    # Another ground that can be trusted still does.
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


# --- the whole text --------------------------------------------------------------------------------


def shown(small: Small, grounds: Mapping[str, GroundReport], host: Host = GPU) -> str:
    small.record(evidence(small.load(), grounds, host=host), "laptop")
    return pull_request(gather(small.load()))


def test_a_plan_that_was_not_kept(small: Small) -> None:
    small.declared["plan"] = PLAN
    note = {"field": "hardware", "note": "The T4 was not to be had.", "load_bearing": "timing"}
    small.declared["deviations"] = [note]
    loaded = small.load()
    grounds = {
        "device": ground(loaded, {"with-skill/01": UNCOMPILABLE}),
        "compile:sm_90": ground(loaded, {"with-skill/01": {"n=1": NotRun(why=Why.NO_LAUNCH)}}),
    }
    text = shown(small, grounds)
    assert "no note" in text  # runs: planned 4, found 2, and its author says nothing
    check("pull-request.md", text)


def test_held_against_the_recorded(small: Small) -> None:
    small.record(evidence(small.load(), {"interpreter": ground(small.load())}))
    loaded = small.load()
    now = evidence(loaded, {"interpreter": ground(loaded, {"without-skill/01": WRONG_VALUES})})
    check("pull-request-differs.md", pull_request(gather(loaded, [("a/now.json.gz", now)])))


def test_an_invalid_ground_is_called_so_and_disagrees_with_none(small: Small) -> None:
    loaded = small.load()
    invalid = ground(loaded, {"with-skill/01": UNCOMPILABLE}, status="invalid", reason="a control passed")
    text = shown(small, {"device": invalid, "interpreter": ground(loaded)})
    assert "- device (laptop): all cells: <code>invalid: a control passed</code>\n" in text
    assert "| with-skill (skill 0.1.0) | 0/2 invalid | 2/2 |" in text
    assert "with-skill/01 on device (laptop, invalid): 2 cases" in text
    assert "Where the grounds disagree" not in text


def test_no_evidence(small: Small) -> None:
    check("pull-request-nothing.md", pull_request(gather(small.load())))


# --- strangers -------------------------------------------------------------------------------------

MARKUP = {
    "html": "</code></details><script>alert(1)</script><img src=x onerror=y>",
    "a closed comment": "--><!-- <h1>x",
    "a cell": "a | b |\n| c",
    "a mention": "@octocat closes #12, see GH-3 and www.example.com and https://example.com/x",
    "a link": "[x](http://example.com) ![y](http://example.com/y.png) <http://example.com>",
    "code": "``` ` ``` ~~~",
    "emphasis": "**x** _y_ ~~z~~ $a$ \\",
    "an entity": "&lt;b&gt; &#60;b&#62;",
}
ALLOWED = re.compile(r"</?(?:details|summary|code)>|<br>|<!-- Generated by [^<>]* -->\n?")


@pytest.mark.parametrize("text", [*FORGERIES.values(), *MARKUP.values()], ids=[*FORGERIES, *MARKUP])
def test_nothing_can_be_forged(small: Small, text: str) -> None:
    small.declared["title"] = text
    small.declared["notes"] = text
    small.declared["plan"] = {"hardware": [text]}
    small.declared["deviations"] = [{"field": "hardware", "note": text, "load_bearing": "none"}]
    loaded = small.load()
    report = ground(loaded, {"with-skill/01": Failed(phase=Phase.RUN, error=text)})
    gone = ground(loaded, {}, status="not-available", reason=text, cells={})
    host = Host(
        system={"os": Read(value=text, call="c")},
        software={text: text},
        gpus=(Gpu(index=0, fields={"name": Read(value=text, call="n")}),),
        no_gpu=text,
    )
    now = evidence(loaded, {"device": report, "interpreter": gone}, host=host)
    facts = gather(loaded, [("x.json", now)])
    for name, out in {"pull": pull_request(facts), "proof": pages(facts)["double-proof.md"].decode()}.items():
        assert {c for c in out if c != "\n" and not c.isprintable()} == set()
        assert not re.search(r"^REPRODUCED", out, re.MULTILINE)
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(out)
        inline = [child for token in tokens for child in token.children or ()]
        html = [t.content for t in [*tokens, *inline] if t.type in ("html_inline", "html_block")]
        assert [
            h for h in html if ALLOWED.sub("", h).strip() not in ("", "What ran and did not pass", *FOLDS)
        ] == []
        kinds = {token.type for token in inline}
        assert kinds <= {
            "text",
            "html_inline",
            "strong_open",
            "strong_close",
            "softbreak",
            "image",
            "code_inline",
        }
        if name == "pull":
            assert "image" not in kinds
        rows = [len(line.replace("\\|", "").split("|")) for line in out.splitlines() if line.startswith("|")]
        assert set(rows) <= {4, 5, 7}


FOLDS = (
    "What so many runs can tell",
    "Cross-check",
    "Where the grounds disagree",
    "What was marked",
    "Hosts",
    "Provenance",
)


def test_prose_and_code() -> None:
    assert prose("a_b|<c> @x #1 http://e www.e") == (
        "a\\_b\\|&lt;c&gt; @&#8203;x #&#8203;1 http:&#8203;//e www&#8203;.e"
    )
    assert code("a|`b`\n@x") == "<code>a&#124;&#96;b&#96;⏎&#64;x</code>"
    assert code("") == ""


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fence("````\n\x1b[1m") == "`````\n````\n\\x1b[1m\n`````\n"


def test_a_quotation_holds_every_line() -> None:
    assert quotation("# a\r\n\r\nb\u2028<script>\rc\n") == "> # a\n>\n> b\n> <script>\n> c\n"


# --- the command ------------------------------------------------------------------------------------


def run(*words: str | Path) -> tuple[object, str, BaseException | None]:
    found = CliRunner().invoke(app, ["report", *map(str, words)])
    return found.exit_code, found.output, found.exception


def test_the_command_prints_markdown_unless_told_otherwise(small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    now = tmp_path / "now.json.gz"
    now.write_bytes(gzip.compress(evidence_json(evidence(loaded, {"interpreter": ground(loaded)}))))
    assert run(small.folder)[:2] == (0, pull_request(gather(loaded)))
    code_, out, _ = run(now, "--experiment", small.folder)
    assert (code_, out.splitlines()[2][:16]) == (0, "**Both kernels t")
    page, plots = tmp_path / "a/page.html", tmp_path / "plots"
    assert run(now, "--experiment", small.folder, "--html", page, "--plots", plots)[:2] == (0, "")
    assert page.read_text().startswith("<!doctype html>")
    assert sorted(p.name for p in plots.iterdir()) == [
        "heatmap-interpreter-now.png",
        "heatmap-interpreter-now.svg",
        "walk.svg",
    ]
    assert run(small.folder, "--markdown", tmp_path / "x.md")[1] == ""
    assert (tmp_path / "x.md").read_text() == pull_request(gather(loaded))


def test_what_the_command_cannot_use(small: Small, tmp_path: Path) -> None:
    loaded = small.load()
    other = evidence(loaded, {"interpreter": ground(loaded)}).model_copy(
        update={"subject": evidence(loaded, {}).subject.model_copy(update={"experiment": "toy/other"})}
    )
    now = tmp_path / "now.json"
    now.write_bytes(evidence_json(other))
    said = [
        (run(now)[2], UsageError, "name the experiment too: --experiment"),
        (run(tmp_path / "gone.json", "--experiment", small.folder)[2], BadEvidence, "No such file"),
        (run(now, "--experiment", small.folder)[2], BadEvidence, "another experiment: 'toy/other'"),
        (run(small.folder, "--experiment", small.folder)[2], UsageError, "more than one experiment"),
        (run(small.folder, "--check")[2], UsageError, "--check is for --pages"),
        (run(small.folder, "--pages", small.folder)[2], UsageError, "recorded evidence alone"),
    ]
    for error, kind, words in said:
        assert isinstance(error, kind)
        assert words in str(error)


def test_without_the_libraries_it_says_what_to_install(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.load()
    for library, module, option in (
        ("jinja2", "bundler.report.html.page", "--html"),
        ("matplotlib", "bundler.report.plots", "--plots"),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.delitem(sys.modules, module, raising=False)
        error = run(small.folder, option, tmp_path / "x")[2]
        assert isinstance(error, UnavailableError)
        assert f"{library} is not installed" in str(error)
        assert "pip install '.[report]'" in error.hint


def test_pages_are_checked_by_the_command(small: Small) -> None:
    small.load()
    assert run("--pages", small.folder, "--check")[0] == 1
    assert run("--pages", small.folder)[0] == 0
    assert run("--pages", small.folder, "--check")[:2] == (0, "")
    (small.folder / "charts").mkdir()
    stale = small.folder / "charts/heatmap-device-gone.svg"
    stale.write_text("")
    assert run("--pages", small.folder, "--check")[0] == 1
    assert stale.exists()
    assert run("--pages", small.folder)[0] == 0
    assert not stale.exists()


@pytest.mark.parametrize("folder", ENTRIES, ids=lambda folder: folder.name)
def test_the_pages_of_every_entry_are_up_to_date(folder: Path) -> None:
    stale = outdated(folder, pages(gather(load(folder))))
    assert stale == [], f"run: bundler report --pages {folder.relative_to(ROOT)}"


# --- an entry's pages ------------------------------------------------------------------------------


def test_pages_are_written_and_told_when_stale(small: Small) -> None:
    loaded = small.load()
    small.record(evidence(loaded, {"interpreter": ground(loaded)}), "cpu")
    (small.folder / "analysis.md").write_text("# Why\n\nBecause.\n")
    facts = gather(small.load())
    made = pages(facts)
    assert sorted(made) == [
        "charts/heatmap-interpreter-cpu.svg",
        "charts/walk.svg",
        "code-diff.md",
        "double-proof.md",
    ]
    assert outdated(small.folder, made) == [
        "double-proof.md",
        "code-diff.md",
        "charts/heatmap-interpreter-cpu.svg",
        "charts/walk.svg",
    ]
    for path, data in made.items():
        (small.folder / path).parent.mkdir(exist_ok=True)
        (small.folder / path).write_bytes(data)
    (small.folder / "charts/by-hand.svg").write_text("the author's own")
    assert outdated(small.folder, made) == []
    (small.folder / "charts/heatmap-device-gone.svg").write_text("")
    (small.folder / "code-diff.md").write_text("edited")
    assert outdated(small.folder, made) == ["code-diff.md", "charts/heatmap-device-gone.svg"]
    assert pages(gather(small.load())) == made  # pages are no part of what they show
    check("proof.md", made["double-proof.md"].decode())


def test_code_diff_shows_both_arms_and_both_prompts(small: Small) -> None:
    other = answer(b"import torch\n\n\ndef double(x):\n    return x + x\n")
    small.arm("with-skill")["outputs"] = [small.file("outputs/with-skill/01.md", other)]
    text = pages(gather(small.load()))["code-diff.md"].decode()
    assert "--- without-skill/01\n+++ with-skill/01\n" in text
    assert "+    return x + x\n" in text
    assert "--- without-skill\n+++ with-skill\n" in text
    assert f"+{GUIDANCE.decode().strip()}\n" in text
    assert f" {TASK.decode().strip()}\n" in text


def test_a_long_text_is_cut_before_it_is_compared() -> None:
    long = b"x\n" * (MOST_LINES + 5)
    assert lines(long)[-2:] == ["x", "… 5 more lines"]
    assert side_by_side(long, long) == []
    assert [(row.change, row.left, row.right) for row in side_by_side(b"a\nb\n", b"a\nc\nd\n")] == [
        ("same", "a", "a"),
        ("changed", "b", "c"),
        ("added", "", "d"),
    ]


def test_two_hosts_with_equal_cells_are_one_column(loaded: Loaded) -> None:
    same: Evidence = evidence(loaded, {"interpreter": ground(loaded)})
    other_cell: Outcome = Passed(error=0.5)
    equal = evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": other_cell})})
    failing = evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": UNCOMPILABLE})})
    found = columns((("a", same), ("b", equal), ("c", failing)))
    assert [column.title for column in found] == ["interpreter (a, b)", "interpreter (c)"]
