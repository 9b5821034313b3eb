"""Which of an experiment's texts are held side by side: the arms' code, and their prompts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from bundler.experiment.load import Loaded
from bundler.model.experiment import Arm, Origin, by_arm


@dataclass(frozen=True)
class Pair:
    """Two texts with their names."""

    left: str
    right: str
    left_text: bytes
    right_text: bytes

    @property
    def equal(self) -> bool:
        """Byte for byte."""
        return self.left_text == self.right_text


def code_pairs(loaded: Loaded) -> list[Pair]:
    """The n-th answer of a model without the skill, and its n-th with each version.

    The answers of one number have nothing else in common: each was written on its own.
    """
    arms = {arm.name: (arm, cs) for arm, cs in by_arm(loaded.experiment) if arm.origin is Origin.GENERATED}
    model_of = loaded.experiment.model_of
    return [
        Pair(one.id, other.id, loaded.sources[one.id], loaded.sources[other.id])
        for baseline, ones in arms.values()
        for arm, others in arms.values()
        if baseline.skill is None and arm.skill is not None and model_of(baseline) == model_of(arm)
        for one, other in zip(ones, others, strict=False)
    ]


def prompt_pairs(loaded: Loaded) -> list[Pair]:
    """Each generated arm's prompt and the next one's, in the order of the declaration."""
    arms = loaded.experiment.generated()
    return [_prompts(loaded, one, other) for one, other in pairwise(arms)]


def _prompts(loaded: Loaded, one: Arm, other: Arm) -> Pair:
    return Pair(one.name, other.name, loaded.prompt(one), loaded.prompt(other))
