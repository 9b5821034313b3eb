"""The evidence that is kept of other hosts still reproduces what is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.errors import ExitCode
from bundler.experiment.load import load
from bundler.experiment.parse import parse_evidence
from bundler.experiment.subject import mismatch
from bundler.judge.verdict import exit_code, hold
from bundler.model.verdict import Judgement

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs/reverifications"
EXPECTED = {
    "row-max-h200-container.json.gz": ("portability/row-max", 4344, 0, 192),
    "row-max-h200-container-random-seed.json.gz": ("portability/row-max", 468, 0, 0),
    "cuda-softmax-h200-container.json.gz": ("cuda/softmax", 4240, 0, 0),
    "cuda-gemm-h200-seed-7.json.gz": ("cuda/gemm", 200, 0, 0),
    "cuda-layernorm-h200-seed-7.json.gz": ("cuda/layernorm", 424, 0, 0),
    "cuda-ragged-row-sum-h200-seed-7.json.gz": ("cuda/ragged-row-sum", 216, 0, 0),
    "cuda-reduction-h200-seed-7.json.gz": ("cuda/reduction", 423, 0, 0),
    "cuda-softmax-brief-h200-seed-7.json.gz": ("cuda/softmax-brief", 530, 0, 0),
    "cuda-softmax-h200-seed-7.json.gz": ("cuda/softmax", 530, 0, 0),
    "patterns-box-blur-h200-seed-7.json.gz": ("patterns/box-blur", 240, 0, 0),
    "patterns-row-moments-brief-h200-seed-7.json.gz": ("patterns/row-moments-brief", 1050, 0, 0),
    "patterns-row-moments-h200-seed-7.json.gz": ("patterns/row-moments", 825, 0, 0),
    "portability-row-max-h200-seed-7.json.gz": ("portability/row-max", 504, 0, 0),
    "portability-sgemm-h200-seed-7.json.gz": ("portability/sgemm", 110, 0, 0),
    "quantization-fp8-h200-seed-7.json.gz": ("quantization/fp8", 336, 0, 0),
    "quantization-int8-brief-h200-seed-7.json.gz": ("quantization/int8-brief", 220, 0, 0),
    "quantization-int8-h200-seed-7.json.gz": ("quantization/int8", 198, 0, 0),
    "triton-attention-brief-h200-seed-7.json.gz": ("triton/attention-brief", 550, 0, 0),
    "triton-attention-h200-seed-7.json.gz": ("triton/attention", 540, 0, 0),
    "triton-softmax-h200-seed-7.json.gz": ("triton/softmax", 296, 0, 0),
}
"""Experiment, and cells reproduced, differing and not judged."""


def test_every_kept_file_is_expected() -> None:
    assert {path.name for path in KEPT.glob("*.json*")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_recorded_cells_are_reproduced(name: str) -> None:
    experiment, reproduced, differ, not_judged = EXPECTED[name]
    loaded = load(ROOT / "proof" / experiment)
    evidence = parse_evidence((KEPT / name).read_bytes(), name)
    assert mismatch(loaded, evidence) == ""
    verdict = hold(loaded.experiment, evidence, loaded.recorded)
    assert verdict.count(Judgement.REPRODUCED) == reproduced
    assert verdict.count(Judgement.DIFFERS) == differ
    assert verdict.count(Judgement.NOT_JUDGED) == not_judged
    assert exit_code(evidence, verdict) is ExitCode.OK


@pytest.mark.parametrize(
    ("experiment", "name"),
    [
        ("portability/row-max", "row-max-h200-container.json.gz"),
        ("cuda/softmax", "cuda-softmax-h200-container.json.gz"),
    ],
)
def test_device_and_container_were_two_software_stacks(experiment: str, name: str) -> None:
    """What makes the re-verification a second path."""
    loaded = load(ROOT / "proof" / experiment)
    recorded = next(evidence for _, evidence in loaded.recorded if "device" in evidence.grounds)
    replayed = parse_evidence((KEPT / name).read_bytes(), "kept")
    assert recorded.host.software["torch"] == "2.11.0"
    assert replayed.host.software["torch"] == "2.13.0"
    assert replayed.settings.seed == recorded.settings.seed


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.endswith("-seed-7.json.gz")])
def test_other_values_were_drawn(name: str) -> None:
    """The same seed would repeat the recorded values."""
    loaded = load(ROOT / "proof" / EXPECTED[name][0])
    recorded = [evidence for _, evidence in loaded.recorded if "device" in evidence.grounds]
    assert {evidence.settings.seed for evidence in recorded} == {0}
    assert parse_evidence((KEPT / name).read_bytes(), name).settings.seed == 7


def test_every_experiment_was_run_on_other_values() -> None:
    kept = {experiment for name, (experiment, *_) in EXPECTED.items() if name.endswith("-seed-7.json.gz")}
    assert kept == {
        str(path.parent.relative_to(ROOT / "proof")) for path in ROOT.glob("proof/*/*/experiment.yaml")
    }
