"""The last line where nothing is recorded: a new experiment has not failed."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bundler.experiment.load import Loaded
from bundler.judge.verdict import hold
from bundler.model.evidence import Evidence
from bundler.model.outcome import NotRun, Why
from bundler.report.terminal import screen
from bundler.report.terminal.verdict import Unheld
from tests.cli.test_exit_codes import Run, run
from tests.small import PASSED, UNCOMPILABLE, Small, evidence, ground

__all__ = ["run"]
ONE = ["--ground", "interpreter", "--candidate", "with-skill/01", "--case", "n=100"]


@pytest.fixture
def loaded(small: Small) -> Loaded:
    return small.load()


def last(loaded: Loaded, seen: Evidence) -> str:
    out = Console(file=io.StringIO(), width=100, soft_wrap=True)
    verdict = hold(loaded.experiment, seen, ())
    screen.show(out, loaded.experiment, seen, verdict, matrix=False, unheld=Unheld("NEW", "do this"))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().splitlines()[-1]


def test_candidates_are_counted_and_controls_are_not(loaded: Loaded) -> None:
    seen = evidence(loaded, {"interpreter": ground(loaded, {"with-skill/01": UNCOMPILABLE})})
    assert last(loaded, seen) == (
        "NEW: 2 of 4 candidates' cells passed, and each control did as it must; do this"
    )


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


@pytest.mark.torch
def test_verify_says_what_is_next(run: Run, small: Small) -> None:
    ended = run("verify", small.write(), *ONE)
    assert ended.code == 4
    assert ended.out.splitlines()[-1] == (
        "NOTHING RECORDED YET: 1 of 1 candidates' cell passed, and each control did as it must; "
        "to keep that as this host's evidence: bundler record proof/toy/double NAME"
    )


@pytest.mark.torch
def test_record_says_how_it_went_and_what_is_next(run: Run, small: Small) -> None:
    ended = run("record", small.write(), "host", "--ground", "interpreter")
    assert ended.code == 0
    assert ended.out.splitlines()[-2:] == [
        "RAN: 4 of 4 candidates' cells passed, and each control did as it must",
        f"{small.folder}/evidence/host.json.gz: add it to the list 'evidence' of experiment.yaml",
    ]


def test_what_is_recorded_is_not_replaced_unasked(run: Run, small: Small) -> None:
    """Else the name of another host's evidence, typed again, loses that evidence."""
    folder = str(small.write())
    small.record(evidence(small.load(), {"interpreter": ground(small.load())}))
    kept = small.folder / "evidence" / "host.json.gz"
    kept.write_bytes(b"kept")
    refused = run("record", folder, "host", "--ground", "interpreter")
    assert refused.code == 2
    assert "is there already" in refused.err
    assert "--replace" in refused.err
    assert kept.read_bytes() == b"kept"
