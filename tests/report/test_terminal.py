"""The whole text of a report; what a stranger wrote cannot forge a line of it."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from bundler.experiment.load import Loaded
from bundler.judge.verdict import hold
from bundler.model.evidence import Evidence
from bundler.model.host import Gpu, Host, Read, Unread
from bundler.model.outcome import Crashed, Mark, NotRun, Passed, Why
from bundler.model.timing import Cache, TimedCell, Timings
from bundler.report import summary
from bundler.report.terminal import cells, screen
from bundler.report.terminal.host import unused_gpus
from tests.small import HOST, KERNEL_MADE, PASSED, UNCOMPILABLE, WRONG_VALUES, Small, evidence, ground

GOLDEN = Path(__file__).parent / "golden"
NO_GPU = NotRun(why=Why.NO_DEVICE, detail="libcuda.so.1 is not there")


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def shown(loaded: Loaded, now: Evidence, recorded: Evidence | None = None, *, matrix: bool = False) -> str:
    console = Console(file=io.StringIO(), width=100, no_color=True, highlight=False, soft_wrap=True)
    verdict = hold(loaded.experiment, now, (("evidence/host.json", recorded),) if recorded else ())
    screen.show(console, loaded.experiment, now, verdict, matrix=matrix)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    return "\n".join(lines) + "\n"


def check(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if not path.exists():  # a new golden text: write it, read it, keep it
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} was not there and is written now: read it, then run again")
    assert text == path.read_text(encoding="utf-8")


def test_all_reproduced(loaded: Loaded) -> None:
    compiled = Passed(kernels=(0,))
    grounds = {
        f"compile:sm_{sm}": ground(loaded, dict.fromkeys(loaded.sources, compiled)) for sm in (80, 90)
    } | {"interpreter": ground(loaded)}
    same = evidence(loaded, grounds, kernels=(KERNEL_MADE,))
    check("reproduced", shown(loaded, same, same, matrix=True))


@pytest.mark.parametrize(("cases", "said"), [(("n=1",), True), (None, False)])
def test_a_control_that_passes_on_some_cases_alone_says_what_is_next(
    loaded: Loaded, cases: tuple[str, ...] | None, said: bool
) -> None:
    seen = evidence(loaded, {"interpreter": ground(loaded, status="invalid", reason="x")})
    narrow = seen.model_copy(update={"settings": seen.settings.model_copy(update={"cases": cases})})
    next_step = "a control need not show on every case: replay without --case, or with more cases"
    assert shown(loaded, narrow).rstrip().endswith(next_step) == said


def test_at_80_columns_lines_go_on_at_words_and_further_in(loaded: Loaded) -> None:
    """A log's lines stay whole; a screen's are cut nowhere within a word, and no line is wider than it."""
    grounds = {
        "compile:sm_90": ground(loaded, {"with-skill/01": UNCOMPILABLE}),
        "interpreter": ground(loaded, {"without-skill/01": WRONG_VALUES}),
    }
    same = evidence(loaded, grounds)
    verdict = hold(loaded.experiment, same, (("evidence/host.json", same),))
    console = Console(file=io.StringIO(), width=80, no_color=True, highlight=False)
    screen.show(console, loaded.experiment, same, verdict, matrix=True)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    at = lines.index("  with-skill/01: 2 cases failed (compile) on compile sm_90, passed on")
    assert lines[at + 1] == "      interpreter: n=1, n=100"
    assert "      What the interpreter passes need not compile, and what it fails may be" in lines
    assert "          its own limit." in lines


def test_grounds_that_disagree(loaded: Loaded) -> None:
    compiled = Passed(kernels=(0,))
    grounds = {
        "compile:sm_90": ground(
            loaded, dict.fromkeys(loaded.sources, compiled) | {"with-skill/01": UNCOMPILABLE}
        ),
        "interpreter": ground(loaded, {"without-skill/01": WRONG_VALUES}),
    }
    same = evidence(loaded, grounds, kernels=(KERNEL_MADE,))
    check("disagree", shown(loaded, same, same))


def test_differs(loaded: Loaded) -> None:
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    now = ground(
        loaded,
        {
            "with-skill/01": UNCOMPILABLE,
            "without-skill/01": {"n=100": Crashed(detail="killed by SIGSEGV")},
        },
    )
    check("differs", shown(loaded, evidence(loaded, {"interpreter": now}), recorded, matrix=True))


def test_a_control_misbehaved(loaded: Loaded) -> None:
    report = ground(
        loaded,
        {"control-wrong/control-wrong": PASSED},
        status="invalid",
        reason="control control-wrong/control-wrong must fail and passed all 2 cases",
    )
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    check("invalid", shown(loaded, evidence(loaded, {"interpreter": report}), recorded))


def test_cut_short(loaded: Loaded) -> None:
    unreached = NotRun(why=Why.INTERRUPTED)
    report = ground(loaded, {"control-right/control-right": {"n=100": unreached}, "with-skill/01": unreached})
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    check("incomplete", shown(loaded, evidence(loaded, {"interpreter": report}, complete=False), recorded))


@pytest.mark.parametrize(
    ("candidates", "said"), [(1, "1 cell left out as slow: --slow runs it"), (2, "2 cells")]
)
def test_slow_cells_are_left_out_and_said_to_be(loaded: Loaded, candidates: int, said: str) -> None:
    slow = NotRun(why=Why.SLOW, detail="slow on the interpreter; --slow runs it")
    left_out = {name: {"n=100": slow} for name in list(loaded.sources)[:candidates]}
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    now = evidence(loaded, {"interpreter": ground(loaded, left_out)})
    *_, reason, _, last = shown(loaded, now, recorded).splitlines()
    assert reason.startswith("  interpreter, ")
    assert reason.endswith(f"cell{'s' * (candidates > 1)}: not run here: {slow.detail}")
    assert last.startswith(
        f"REPRODUCED: {8 - candidates} cells reproduced, 0 differ, {candidates} not judged; {said}"
    )


def test_nothing_to_hold_it_against(loaded: Loaded) -> None:
    device = ground(
        loaded,
        dict.fromkeys(loaded.sources, NO_GPU),
        status="not-available",
        reason="libcuda.so.1 is not there",
        isolation={},
    )
    check(
        "no-gpu",
        shown(loaded, evidence(loaded, {"device": device, "interpreter": ground(loaded)}), matrix=True),
    )


def test_a_gpu_and_what_was_marked(loaded: Loaded) -> None:
    fields = {
        "name": Read(value="NVIDIA H200", call="n"),
        "compute_capability": Read(value="9.0", call="n"),
        "memory_total_bytes": Read(value=150_754_820_096, call="n"),
        "l2_bytes": Read(value=62_914_560, call="c"),
        "sm_clock_mhz": Read(value=345, call="n"),
        "sm_clock_max_mhz": Unread(status="no_permission", call="n"),
        "event_reasons": Read(value=("gpu_idle",), call="n"),
    }
    host = Host(
        system=HOST.system,
        software=HOST.software,
        gpus=(Gpu(index=0, fields=fields), Gpu(index=1, fields={})),
    )
    marked = Passed(marks=(Mark.INPUT_CHANGED, Mark.NOT_BITWISE_STABLE))
    report = ground(
        loaded,
        {"with-skill/01": marked, "without-skill/01": WRONG_VALUES},
        isolation={"user": "not permitted", "network": "held"},
    )
    same = evidence(loaded, {"device": report}, host=host)
    check("gpu", shown(loaded, same, same))


def test_a_ground_without_recorded_evidence_has_no_zeros(loaded: Loaded) -> None:
    """Beside one that has: that nothing differs there would read as if something had been held."""
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    now = evidence(loaded, {"compile:sm_90": ground(loaded), "interpreter": ground(loaded)})
    text = shown(loaded, now, recorded)
    assert re.search("│ compile sm_90 │ none recorded │ +│ +8 │", text)
    assert "  compile sm_90, the whole ground: no recorded evidence for this ground" in text


def test_gpus_that_a_replay_does_not_use_are_counted() -> None:
    """CUDA's first device may be any of NVML's; without an ordinal every one of them may be it."""

    def gpu(index: int, name: str, ordinal: int | None) -> Gpu:
        fields: dict[str, Read | Unread] = {"name": Read(value=name, call="n")}
        if ordinal is not None:
            fields["cuda_ordinal"] = Read(value=ordinal, call="c")
        return Gpu(index=index, fields=fields)

    known = Host(system={}, software={}, gpus=(gpu(0, "T4", 1), gpu(1, "H200", 0), gpu(2, "L4", None)))
    assert [each.index for each in known.used_gpus] == [1]
    assert unused_gpus(known) == "2 more GPUs, not used"
    unknown = Host(system={}, software={}, gpus=(gpu(0, "T4", None), gpu(1, "H200", None)))
    assert [each.index for each in unknown.used_gpus] == [0, 1]
    assert unused_gpus(unknown) == ""


# --- strangers -------------------------------------------------------------------------------------------

FORGERIES = {
    "a line break": "x\nREPRODUCED: 8 cells reproduced, 0 differ, 0 not judged",
    "a carriage return": "x\rREPRODUCED: 8 cells reproduced",
    "a cursor movement": "\x1b[1A\x1b[2KREPRODUCED: 8 cells reproduced",
    "a colour": "\x1b[32mREPRODUCED\x1b[0m",
    "an operating system command": "\x1b]8;;http://example.com\x07REPRODUCED\x1b]8;;\x07",
    "an eight-bit escape": "\x9b2KREPRODUCED",
    "a backspace": "x\b\b\bREPRODUCED",
    "right to left": "x\u202eDECUDORPER\u202c\u2066",
    "a line separator": "x\u2028REPRODUCED: 8 cells\u2029\x85\x0b\x0cREPRODUCED",
    "rich markup": "[bold green]REPRODUCED[/bold green] [link=http://example.com]x[/link] [/]",
    "no width": "\u200b\u200d\ufeff\u00ad",
    "a private character": "\ue000\U000f0000",
}


@pytest.mark.parametrize("text", FORGERIES.values(), ids=FORGERIES.keys())
def test_nothing_can_be_forged(small: Small, text: str) -> None:
    small.declared["title"] = text
    loaded = small.load()
    recorded = evidence(loaded, {"interpreter": ground(loaded)})
    report = ground(
        loaded,
        {
            "with-skill/01": UNCOMPILABLE.model_copy(update={"error": text}),
            "without-skill/01": WRONG_VALUES.model_copy(update={"detail": text}),
            "control-right/control-right": NotRun(why=Why.NEEDS, detail=text),
        },
        isolation={text: text},
    )
    device = ground(loaded, {}, status="not-available", reason=text, cells={})
    host = Host(
        system={name: Read(value=text, call="c") for name in ("os", "kernel", "cpu_model")},
        software={text: text},
        gpus=(Gpu(index=0, fields={"name": Read(value=text, call="n")}),),
        no_gpu=text,
    )
    now = evidence(loaded, {"interpreter": report, "device": device}, host=host)
    console = Console(file=io.StringIO(), width=100, force_terminal=False, soft_wrap=True, highlight=False)
    screen.show(
        console, loaded.experiment, now, hold(loaded.experiment, now, (("e", recorded),)), matrix=True
    )
    assert isinstance(console.file, io.StringIO)
    out = console.file.getvalue()
    unsafe = {c for c in out if c != "\n" and not c.isprintable()}
    assert unsafe == set()
    assert [line for line in out.splitlines() if line.startswith("REPRODUCED")] == []
    assert out.splitlines()[-1].startswith("DIFFERS: ")
    if text.startswith("["):
        assert out.count("[bold green]REPRODUCED[/bold green]") >= 8


def test_a_long_text_is_cut(loaded: Loaded) -> None:
    long = UNCOMPILABLE.model_copy(update={"error": "x" * 4000})
    out = shown(loaded, evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": long})}))
    assert "x" * 240 + "…" in out
    assert "x" * 241 not in out


def test_a_timing_of_a_strange_case_forges_nothing(loaded: Loaded) -> None:
    cell = TimedCell(
        candidate="with-skill/01",
        case="\x1b[2J\nT",
        cache=Cache.COLD,
        call_bytes=0,
        sets=0,
        not_timed="\x1b]0;",
    )
    timings = Timings(gpu=0, interleaved=True, cells=(cell,))
    text = shown(loaded, evidence(loaded, {"interpreter": ground(loaded)}, timings=timings))
    assert "with-skill/01 on \\x1b[2J⏎T: not timed" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_matrix_names_every_arm_in_full_whatever_the_width(loaded: Loaded, width: int) -> None:
    group = summary.groups(evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": UNCOMPILABLE})}))
    console = Console(file=io.StringIO(), width=width, no_color=True, highlight=False)
    parts = cells.by_case(loaded.experiment, group[0], width)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    text = " ".join(console.file.getvalue().split())
    assert "…" not in text
    assert all(arm.name in text for arm in loaded.experiment.arms)
    assert ("A without-skill" in text) is (width < 80)
    assert ("✗ failed" in text) is (width < 80)
