"""Evidence of ``python -m tests.timing`` from a real H200, judged again by the rules as they are now."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bundler.experiment.parse import parse_evidence
from bundler.model.timing import TimedCell
from bundler.timing.judge import judged_again
from tests.timing.build import EARLY, LARGE, LATE, MIDDLING, SHORT, SMALL

FOLDER = Path(__file__).parent / "h200"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="no evidence of a real device is kept")


def _cells(part: str) -> dict[tuple[str, str], TimedCell]:
    path = FOLDER / f"{part}.json.gz"
    evidence = parse_evidence(gzip.decompress(path.read_bytes()), path.name)
    again = judged_again(evidence, None)
    assert again is not None
    return {(cell.candidate.split("/")[0], cell.case): cell for cell in again.cells}


def _judged(part: str, candidate: str, case: str) -> tuple[str, set[str]]:
    verdict = _cells(part)[candidate, case].verdict
    assert verdict is not None
    return verdict.state.value, {reason.rule for reason in verdict.reasons}


def test_a_sound_timing_is_admissible() -> None:
    assert _judged("right", "control-right", LARGE) == ("admissible", set())


@pytest.mark.parametrize("case", [MIDDLING, SMALL])
def test_inside_the_l2_it_is_withheld(case: str) -> None:
    state, rules = _judged("right", "control-right", case)
    assert state == "withheld"
    assert "T01" in rules


def test_beside_another_process_it_is_not_admissible() -> None:
    state, rules = _judged("beside", "control-right", LARGE)
    assert state != "admissible"
    assert rules & {"T19", "T20"}


@pytest.mark.parametrize("attack", ["side-stream", "patched-timer"])
def test_attacks_on_the_timer_are_disputed(attack: str) -> None:
    state, rules = _judged("attacks", attack, LARGE)
    assert state == "withheld"
    assert "T22" in rules


@pytest.mark.parametrize(("part", "attack"), [("early", EARLY), ("late", LATE)])
def test_work_beside_the_block_or_the_flush_is_disputed(part: str, attack: str) -> None:
    state, rules = _judged(part, attack, SHORT)
    assert state == "withheld"
    assert "T22" in rules
    assert _judged(part, "control-right", SHORT) == ("admissible", set())


@pytest.mark.parametrize("attack", ["skip-calls", "cache-by-address"])
def test_attacks_on_the_work_give_wrong_outputs(attack: str) -> None:
    state, rules = _judged("attacks", attack, LARGE)
    assert state == "withheld"
    assert "T23" in rules


def test_replacing_torchs_timers_changes_nothing() -> None:
    assert _judged("attacks", "patched-torch", LARGE) == _judged("attacks", "control-right", LARGE)
