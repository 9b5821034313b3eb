"""Recorded inputs to the rules, each with its verdict and all its reasons."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bundler.model.evidence import GroundReport
from bundler.model.host import Gpu
from bundler.model.timing import TimedCell, TimingVerdict
from bundler.timing.facts import Around
from bundler.timing.judge import RULES, judge_timing

FOLDER = Path(__file__).parent / "scenarios"
DOCS = Path(__file__).parents[2] / "docs" / "timing.md"
SCENARIOS = sorted(FOLDER.glob("*.json"))


def _judged(path: Path) -> tuple[dict[str, Any], TimingVerdict]:
    scenario = json.loads(path.read_text())
    cell, gpu = TimedCell.model_validate(scenario["cell"]), Gpu.model_validate(scenario["gpu"])
    told = scenario.get("ground")
    verdict = judge_timing(cell, gpu, Around(GroundReport.model_validate(told)) if told else None)
    assert verdict is not None
    return scenario, verdict


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_verdict_and_all_reasons(path: Path) -> None:
    scenario, verdict = _judged(path)
    found = {
        "state": verdict.state.value,
        **{
            kind: [reason.rule for reason in getattr(verdict, kind)]
            for kind in ("withheld", "undetermined", "labels")
        },
    }
    assert found == scenario["verdict"], [reason.text for reason in verdict.reasons]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_where_the_numbers_come_from_is_said(path: Path) -> None:
    assert re.match(
        r"(invented: |invented, modelled on a public report: |recorded )",
        json.loads(path.read_text())["origin"],
    )


def test_every_rule_is_broken_by_some_scenario() -> None:
    verdicts = [_judged(path)[1] for path in SCENARIOS]
    said = {reason.rule for verdict in verdicts for reason in verdict.reasons + verdict.labels}
    # A flush that is too small and operations beyond the peak have tests of their own.
    assert {rule for rule, _, _ in RULES} - said == {"T02", "T04"}


def test_rules_are_numbered_named_and_documented() -> None:
    assert [rule for rule, _, _ in RULES] == [f"T{number:02}" for number in range(1, len(RULES) + 1)]
    text = DOCS.read_text()
    for rule, name, ask in RULES:
        assert (ask.__doc__ or "").startswith(f"{rule}: ")
        assert f"| {rule} | {name} |" in text


def test_no_text_has_the_number_that_is_withheld() -> None:
    for path in SCENARIOS:
        scenario, verdict = _judged(path)
        medians = {
            f"{sorted(p['samples_us'])[len(p['samples_us']) // 2]}" for p in scenario["cell"]["processes"]
        }
        for reason in verdict.reasons:
            assert not any(median in reason.text for median in medians), reason.text


def test_a_flush_that_is_too_small_is_withheld() -> None:
    assert _rules("sound", flush_bytes=62914560) == ["T02"]


def test_operations_beyond_the_peak_are_withheld() -> None:
    assert _rules("sound", flops=1e15) == ["T04"]


def _rules(name: str, **fields: Any) -> list[str]:
    scenario = json.loads((FOLDER / f"{name}.json").read_text())
    verdict = judge_timing(
        TimedCell.model_validate(scenario["cell"] | fields), Gpu.model_validate(scenario["gpu"])
    )
    assert verdict is not None
    return [reason.rule for reason in verdict.reasons]


def test_what_is_just_over_a_threshold_is_not_rounded_to_it() -> None:
    """On an H200 five processes were said to be "5% apart, over 5%"."""
    scenario = json.loads((FOLDER / "sound.json").read_text())
    scenario["cell"]["processes"][0]["samples_us"] = [
        1.053 * us for us in scenario["cell"]["processes"][1]["samples_us"]
    ]
    verdict = judge_timing(TimedCell.model_validate(scenario["cell"]), Gpu.model_validate(scenario["gpu"]))
    assert verdict is not None
    assert [reason.text for reason in verdict.reasons] == ["the processes are 5.3% apart, over 5%"]
