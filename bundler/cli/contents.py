"""What is frozen, as ``bundler show --json`` prints it."""

from __future__ import annotations

from typing import Any

from bundler.digest import Digest
from bundler.experiment.load import Loaded
from bundler.model.experiment import Arm, Candidate, Experiment, Ground, by_arm


def contents(loaded: Loaded) -> dict[str, Any]:
    """The experiment as values of JSON: names, versions and digests, no file's text."""
    experiment = loaded.experiment
    return {
        "experiment": experiment.id,
        "title": experiment.title,
        "skill": experiment.skill,
        "task": experiment.base_task.model_dump(mode="json"),
        "harness": {
            "path": experiment.harness.path,
            "sha256": Digest.of(loaded.harness),
            "sets": experiment.harness.sets,
        },
        "cases": len(experiment.expand()),
        "slow": _slow(experiment),
        "runtime": experiment.runtime.model_dump(mode="json"),
        "arms": [_arm(loaded, arm, candidates) for arm, candidates in by_arm(experiment)],
        "recorded": _recorded(loaded),
        "plan": _plan(experiment),
    }


def _slow(experiment: Experiment) -> dict[str, list[str]]:
    """By ground, the cases that are run there only where slow cells are asked for."""
    found = {ground: [case.id for case in experiment.slow_cases(ground)] for ground in Ground}
    return {ground.value: cases for ground, cases in found.items() if cases}


def _arm(loaded: Loaded, arm: Arm, candidates: tuple[Candidate, ...]) -> dict[str, Any]:
    """``model`` and ``prompt_sha256`` are of generated arms, null elsewhere."""
    generated = arm.prompt_sha256 is not None
    return {
        "name": arm.name,
        "origin": arm.origin.value,
        "model": loaded.experiment.model_of(arm).model_dump(mode="json") if generated else None,
        "skill": arm.skill.model_dump(mode="json") if arm.skill else None,
        "prompt_sha256": arm.prompt_sha256,
        "expect": arm.expect.value if arm.expect else None,
        "outputs": [_output(loaded, candidate) for candidate in candidates],
    }


def _output(loaded: Loaded, candidate: Candidate) -> dict[str, str]:
    return {
        "candidate": candidate.id,
        "path": candidate.output.path,
        "sha256": candidate.output.sha256,
        "source_sha256": Digest.of(loaded.sources[candidate.id]),
    }


def _recorded(loaded: Loaded) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "started": evidence.started,
            "complete": evidence.complete,
            "grounds": list(evidence.grounds),
        }
        for name, evidence in loaded.recorded
    ]


def _plan(experiment: Experiment) -> dict[str, Any] | None:
    """Of a plan, what was said."""
    return experiment.plan.model_dump(mode="json", exclude_defaults=True) if experiment.plan else None
