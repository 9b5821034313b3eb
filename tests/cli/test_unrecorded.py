"""The last line where nothing is recorded: a new experiment has not failed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from bundler.experiment.load import Loaded, unlisted
from bundler.judge.verdict import hold
from bundler.model.evidence import Evidence, evidence_json
from bundler.model.outcome import NotRun, Why
from bundler.report.terminal import screen
from bundler.report.terminal.verdict import Unheld
from tests.cli.test_exit_codes import Run, run
from tests.small import PASSED, RIGHT, UNCOMPILABLE, WRONG, Small, evidence, ground

__all__ = ["run"]
ONE = ["--ground", "interpreter", "--candidate", "with-skill/01", "--case", "n=100"]


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def shown(loaded: Loaded, seen: Evidence) -> str:
    out = Console(file=io.StringIO(), width=100, soft_wrap=True)
    verdict = hold(loaded.experiment, seen, ())
    screen.show(out, loaded.experiment, seen, verdict, matrix=False, unheld=Unheld("NEW", "do this"))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def last(loaded: Loaded, seen: Evidence) -> str:
    return shown(loaded, seen).splitlines()[-1]


def test_candidates_are_counted_and_controls_are_not(loaded: Loaded) -> None:
    seen = evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": UNCOMPILABLE})})
    assert last(loaded, seen) == (
        "NEW: of the candidates' cells, 2 of 4 passed on interpreter, and each control did as it must; "
        "do this"
    )


def test_each_ground_has_its_count_and_architectures_that_agree_one(loaded: Loaded) -> None:
    grounds = {
        "compile:sm_75": ground(loaded, {"without-skill/01": {"n=1": UNCOMPILABLE}}),
        "compile:sm_80": ground(loaded),
        "compile:sm_90": ground(loaded),
        "interpreter": ground(loaded, {"with-skill/01": UNCOMPILABLE}),
    }
    assert last(loaded, evidence(loaded, grounds)) == (
        "NEW: of the candidates' cells, 3 of 4 passed on compile sm_75, 4 of 4 each passed on compile sm_80 "
        "90, 2 of 4 passed on interpreter, and each control did as it must; do this"
    )


def test_no_zeros_are_counted_and_what_did_not_run_has_its_reason(loaded: Loaded) -> None:
    slow = NotRun(why=Why.SLOW, detail="slow; --slow runs it")
    text = shown(loaded, evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": slow})}))
    assert "Held against" not in text
    assert "reproduced" not in text
    assert "no recorded evidence" not in text
    assert "Not judged here, and why\n  interpreter, 2 cells: not run here: slow; --slow runs it\n" in text


def test_no_cell_ran(loaded: Loaded) -> None:
    absent = NotRun(why=Why.NO_DEVICE, detail="no GPU")
    cells = ground(loaded, dict.fromkeys(loaded.sources, absent), status="not-available", reason="no GPU")
    assert last(loaded, evidence(loaded, {"device": cells})) == "NEW: no candidate's cell ran here; do this"


@pytest.mark.parametrize(
    ("changed", "said"), [({"status": "invalid", "reason": "x"}, "INVALID: "), ({}, "INCOMPLETE: ")]
)
def test_what_is_graver_is_said_instead(loaded: Loaded, changed: dict[str, str], said: str) -> None:
    report = ground(loaded, {"with-skill/01": PASSED}, **changed)
    seen = evidence(loaded, {"interpreter": report}, complete=bool(changed))
    assert last(loaded, seen).startswith(said)
    assert last(loaded, seen).endswith("; nothing is recorded to hold it against") or not changed
    assert "0 cells reproduced" not in last(loaded, seen)


@pytest.mark.torch
def test_verify_says_what_is_next(run: Run, small: Small) -> None:
    ended = run("verify", small.write(), *ONE)
    assert ended.code == 4
    assert ended.out.splitlines()[-1] == (
        "NOTHING RECORDED YET to hold this against: of the candidates' cells, 1 of 1 passed on interpreter, "
        "and each control did as it must; to keep that as this host's evidence: bundler record "
        "proof/toy/double NAME"
    )


@pytest.mark.torch
def test_verify_names_evidence_that_is_not_listed_and_the_line_that_lists_it(run: Run, small: Small) -> None:
    seen = evidence(small.load(), {"interpreter": ground(small.load())})
    small.record(seen)
    del small.declared["evidence"]
    ended = run("verify", small.write(), *ONE)
    assert ended.code == 4
    assert ended.out.splitlines()[-1].startswith("NOTHING LISTED YET to hold this against: of the cand")
    assert ended.out.splitlines()[-1].endswith(
        "each control did as it must; evidence/host.json: there, but not listed; write into experiment.yaml "
        "the line evidence: [evidence/host.json]"
    )
    small.record(seen, "other")  # the other is listed: what is not is told as well
    ended = run("verify", small.write(), *ONE)
    assert ended.code == 0
    assert (
        "evidence/host.json: there, but not listed; write into experiment.yaml the line "
        "evidence: [evidence/other.json, evidence/host.json]" in ended.out
    )
    assert ended.out.splitlines()[-1].startswith("REPRODUCED: ")


@pytest.mark.torch
def test_evidence_of_other_files_is_not_named_for_the_list(run: Run, small: Small) -> None:
    small.record(evidence(small.load(), {"interpreter": ground(small.load())}))
    del small.declared["evidence"]
    small.arm("control-wrong")["outputs"] = [small.file("controls/control-wrong.py", WRONG + b"\n")]
    folder = small.write()
    Path(folder, "evidence/a: b.json").write_text("{")
    told = unlisted(small.load(), ["evidence/host.json", "evidence/a: b.json"])
    assert [line.partition(": there, ")[0] for line in told] == ["evidence/a: b.json", "evidence/host.json"]
    assert "evidence/host.json was recorded with another candidate 'control-wrong/control-wrong'" in told[1]
    assert told[1].endswith("; record it again: bundler record, or remove it, from the declaration too")
    ended = run("verify", folder, *ONE)
    assert "write into experiment.yaml" not in ended.out
    assert ended.out.splitlines()[-1].startswith("NOTHING LISTED YET to hold this against: ")


def test_a_line_that_lists_evidence_is_yaml(small: Small) -> None:
    data = evidence_json(evidence(small.load(), {"interpreter": ground(small.load())}))
    (small.folder / "evidence").mkdir()
    names = ["evidence/a, b.json", "evidence/c: d.json"]
    for name in names:
        (small.folder / name).write_bytes(data)
    (line,) = unlisted(small.load(), names)
    assert yaml.safe_load(line.partition(" the line ")[2]) == {"evidence": names}


@pytest.mark.torch
def test_record_says_how_it_went_and_what_is_next(run: Run, small: Small) -> None:
    ended = run("record", small.write(), "host", "--ground", "interpreter")
    assert ended.code == 0
    assert ended.out.splitlines()[-3:] == [
        "RAN: of the candidates' cells, 4 of 4 passed on interpreter, and each control did as it must",
        f"stored: {small.folder}/evidence/host.json.xz",
        "evidence/host.json.xz: there, but not listed; write into experiment.yaml the line "
        "evidence: [evidence/host.json.xz]",
    ]
    small.declared["evidence"] = ["evidence/host.json.xz"]
    ended = run("record", small.write(), "host", "--ground", "interpreter", "--replace")
    assert ended.out.splitlines()[-1].startswith("stored: ")


@pytest.mark.torch
def test_record_says_that_nothing_is_stored_where_a_control_misbehaves(run: Run, small: Small) -> None:
    small.arm("control-wrong")["outputs"] = [small.file("controls/control-wrong.py", RIGHT)]
    ended = run("record", small.write(), "host", "--ground", "interpreter")
    assert ended.code == 5
    *_, last_line, stored = ended.out.splitlines()
    assert last_line.startswith("INVALID: a control misbehaved")
    assert stored == "nothing is stored"
    assert not (small.folder / "evidence").exists()


def test_what_is_recorded_is_not_replaced_unasked(run: Run, small: Small) -> None:
    """Else the name of another host's evidence, typed again, loses that evidence."""
    folder = str(small.write())
    small.record(evidence(small.load(), {"interpreter": ground(small.load())}))
    kept = small.folder / "evidence" / "host.json.xz"
    kept.write_bytes(b"kept")
    refused = run("record", folder, "host", "--ground", "interpreter")
    assert refused.code == 2
    assert "is there already" in refused.err
    assert "--replace" in refused.err
    assert kept.read_bytes() == b"kept"
