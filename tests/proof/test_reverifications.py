"""The evidence that is kept of other hosts still reproduces what is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.errors import ExitCode
from bundler.experiment.load import load, mismatch, parse_evidence
from bundler.judge.verdict import exit_code, hold
from bundler.model.verdict import Judgement

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs/reverifications"
EXPECTED = {
    "row-max-h200-container.json.gz": ("portability/row-max", 4056, 156),
    "row-max-h200-container-random-seed.json.gz": ("portability/row-max", 468, 0),
}


def test_every_kept_file_is_expected() -> None:
    assert {path.name for path in KEPT.glob("*.json*")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_recorded_cells_are_reproduced(name: str) -> None:
    experiment, reproduced, not_judged = EXPECTED[name]
    loaded = load(ROOT / "proof" / experiment)
    evidence = parse_evidence((KEPT / name).read_bytes(), name)
    assert mismatch(loaded, evidence) == ""
    verdict = hold(loaded.experiment, evidence, loaded.recorded)
    assert verdict.count(Judgement.REPRODUCED) == reproduced
    assert verdict.count(Judgement.NOT_JUDGED) == not_judged
    assert exit_code(evidence, verdict) is ExitCode.OK


def test_device_and_container_were_two_software_stacks() -> None:
    """What makes the re-verification a second path."""
    loaded = load(ROOT / "proof/portability/row-max")
    recorded = next(evidence for _, evidence in loaded.recorded if "device" in evidence.grounds)
    replayed = parse_evidence((KEPT / "row-max-h200-container.json.gz").read_bytes(), "kept")
    assert recorded.host.software["torch"] == "2.11.0"
    assert replayed.host.software["torch"] == "2.13.0"
    assert replayed.settings.seed == recorded.settings.seed
