"""The corpus is whole, what it allows is strict, and its probes reach what nothing keeps from them."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from bundler.model.evidence import GroundReport
from bundler.model.outcome import Crashed, Mark, Outcome, Passed, Wrong
from tests.attacks.build import build
from tests.attacks.corpus import (
    CORPUS,
    FOLDER,
    GROUNDS,
    GROUPS,
    LATER,
    PLAIN,
    REPORTED,
    Entry,
    GroundName,
    Group,
)
from tests.attacks.record import evidence_json, markdown, terminal
from tests.attacks.run import Result, Row, _row, again

CANDIDATES = sorted((FOLDER / "candidates").glob("*.py"))
CONTROLS = {"control-right", "control-wrong", "control-uncompilable"}


def test_every_candidate_is_in_the_corpus_and_the_other_way_round() -> None:
    for suffix in ("py", "cu"):
        there = {path.stem for path in (FOLDER / "candidates").glob(f"*.{suffix}")}
        assert there == {entry.name for entry in CORPUS if entry.group.suffix == suffix} | CONTROLS


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: path.stem)
def test_every_candidate_is_python_and_says_what_it_tries(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert len((ast.get_docstring(tree) or "").splitlines()) == 1


def test_every_cuda_candidate_says_what_it_tries() -> None:
    for path in (FOLDER / "candidates").glob("*.cu"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert re.fullmatch(r"// [A-Z].*\.", first), path


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: f"{entry.name}-{entry.group.name}")
def test_no_attack_may_pass(entry: Entry) -> None:
    allowed = [one for ground in GROUNDS for one in entry.allowed(ground)]
    assert allowed, "it acts nowhere"
    if "passed" in allowed:
        assert entry.kind == "report" or (entry.group is REPORTED and entry.mark)
    assert entry.only is None or entry.only in entry.group.cases


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_every_group_is_an_experiment(group: Group, ground: GroundName, tmp_path: Path) -> None:
    loaded = build(tmp_path, group, ground)
    controls = [c.id for c in loaded.experiment.candidates() if c.arm.expect]
    assert len(controls) == len(CONTROLS)


# --- what is allowed -------------------------------------------------------------------------------

WRONG = Wrong(what="values", call=0, detail="<script>|`\x1b[2J")
ATTACK = Entry("return-input", PLAIN, ("wrong (values)", "crashed"))
ONE_CASE = Entry("deadlock", LATER, ("timed-out",), only=128)


def _problem(entry: Entry, **outcomes: Outcome) -> str:
    cells = {name.replace("n", "n="): outcome for name, outcome in outcomes.items()}
    report = GroundReport(status="judged", cells={"x/x": cells})
    return _row("interpreter", entry, report, "x/x", entry.group).problem


@pytest.mark.parametrize(
    ("outcome", "problem"),
    [
        (WRONG, ""),
        (Crashed(detail=""), ""),
        (Passed(), "n=200 is passed, allowed"),
        (Passed(marks=(Mark.NO_OWN_KERNEL,)), "n=200 is passed (launched no kernel"),
        (Wrong(what="shape", call=0, detail=""), "n=200 is wrong (shape), allowed"),
    ],
)
def test_what_is_allowed(outcome: Outcome, problem: str) -> None:
    assert _problem(ATTACK, n200=outcome).startswith(problem)
    assert bool(_problem(ATTACK, n200=outcome)) == bool(problem)


def test_a_missing_cell_is_a_problem() -> None:
    assert _problem(ATTACK) == "cells are missing"


def test_the_other_cases_have_to_pass() -> None:
    assert "n=64 is crashed, allowed: passed" in _problem(
        ONE_CASE, n64=Crashed(detail=""), n128=Crashed(detail=""), n200=Passed()
    )


def test_a_mark_that_is_asked_for_has_to_be_there() -> None:
    entry = Entry("torch-instead", REPORTED, ("passed",), mark=Mark.NO_OWN_KERNEL)
    assert _problem(entry, n200=Passed(marks=(Mark.NO_OWN_KERNEL,))) == ""
    assert "is not marked" in _problem(entry, n200=Passed())


def test_nothing_run_is_nothing_held() -> None:
    assert not Result().held
    good = Row("interpreter", ATTACK, {"n=200": "wrong (values)"}, WRONG.detail, "")
    assert Result(rows=[good]).held
    assert not Result(rows=[good], problems=["plain/interpreter: invalid"]).held
    assert not Result(rows=[good, Row("device", ATTACK, {}, "", "n=200 is passed")]).held


def test_what_a_candidate_wrote_is_escaped() -> None:
    result = Result(rows=[Row("interpreter", ATTACK, {"n=200": "wrong (values)"}, WRONG.detail, "|\x1b<b>")])
    for text in (terminal(result), markdown(result)):
        assert "\x1b" not in text
    assert "<b>" not in markdown(result)
    assert json.loads(evidence_json(result))["rows"][0]["detail"] == WRONG.detail


RECORDED = {"h200": 121}
"""Folders of docs/security, and how many attacks each has."""


def test_every_recorded_run_is_known() -> None:
    found = (FOLDER.parents[1] / "docs/security").glob("*/attacks.json")
    assert {path.parent.name for path in found} == RECORDED.keys()


@pytest.mark.parametrize("folder", RECORDED)
def test_the_recorded_runs_hold(folder: str) -> None:
    """All that was run there; an attack that was added since waits for the next run."""
    path = FOLDER.parents[1] / "docs/security" / folder / "attacks.json"
    result = again(json.loads(path.read_bytes()))
    assert result.problems == []
    ran = [row for row in result.rows if row.outcomes]
    assert len(ran) == RECORDED[folder]
    assert [(row.entry.name, row.problem) for row in ran if row.problem] == []


# --- the probes ------------------------------------------------------------------------------------

_UNCONFINED = """
import sys
from unittest.mock import MagicMock
for name in ("torch", "triton", "triton.language", "numpy"):
    sys.modules[name] = MagicMock()
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
sys.exit(0 if scope["REACHED"] else 1)
"""
_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="reaches it as root only")


@pytest.mark.parametrize(
    "name",
    [
        "reach-network",
        "reach-files",
        "reach-judge",
        "reach-local-sockets",
        "reach-environment",
        "reach-descriptors",
        "leave-the-group",
        pytest.param("reach-privileges", marks=_ROOT),
    ],
)
def test_a_probe_reaches_it_when_nothing_is_confined(name: str, tmp_path: Path) -> None:
    """Else the zeros that it answers in a worker would show nothing."""
    folder = Path(f"/tmp/bundler-attack-test-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    try:
        with socket.socket(socket.AF_UNIX) as server, (tmp_path / "open").open("w") as inherited:
            server.bind(str(folder / "socket"))
            server.listen()
            done = subprocess.run(
                [sys.executable, "-c", _UNCONFINED, str(FOLDER / "candidates" / f"{name}.py")],
                capture_output=True,
                pass_fds=[inherited.fileno()],
                env=dict(os.environ) | {"SOME_TOKEN": "secret"},
                timeout=60,
                check=False,
            )
    finally:
        (folder / "socket").unlink(missing_ok=True)
        folder.rmdir()
    assert done.returncode == 0, done.stderr.decode()
