"""What was said before the run, and where the run is not as it was said."""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import Field, StringConstraints

from bundler.model.base import Frozen, RelativePath

Said = Annotated[str, StringConstraints(pattern=r"\S", max_length=20_000)]
"""Prose of an author that says something. Shown escaped."""
Line = Annotated[str, StringConstraints(min_length=1, max_length=400)]
PlannedGround = Annotated[
    str, StringConstraints(pattern=r"^(device|interpreter|compile(:sm_[0-9]{2,3})?)$", max_length=40)
]


class PlanField(enum.StrEnum):
    """The fields of a plan that are held against the declaration and the evidence."""

    HARDWARE = "hardware"
    MODELS = "models"
    RUNS = "runs"
    RUNS_AN_ARM = "runs_an_arm"
    PATH = "path"
    REFERENCE = "reference"
    GROUNDS = "grounds"


class Plan(Frozen):
    """What the author said beforehand. A field that is left out was not said: nothing deviates from it."""

    link: Line | None = None
    """Where it was said, such as an issue's address."""
    date: Line | None = None
    """ISO 8601, the day on which it was said."""
    hardware: tuple[Line, ...] = ()
    """The GPUs, by their names: ``Tesla T4``."""
    models: tuple[Line, ...] = ()
    """The models, by the names that the experiment gives them."""
    runs: Annotated[int, Field(ge=1)] | None = None
    """Generated outputs in all."""
    runs_an_arm: Annotated[int, Field(ge=1)] | None = None
    """Generated outputs of each generated arm."""
    path: RelativePath | None = None
    """The experiment's folder, from the repository's root."""
    reference: Line | None = None
    """What the right answer is computed by, as ``harness.reference`` says it."""
    grounds: tuple[PlannedGround, ...] = ()
    """Where the cells are judged. ``compile`` stands for at least one architecture."""


class Bearing(enum.StrEnum):
    """What a deviation bears on."""

    NONE = "none"
    TIMING = "timing"
    """How fast something is."""
    CORRECTNESS = "correctness"
    """Which cells pass."""
    COMPARISON = "comparison"
    """What the arms say of one another: how many answers, of which models."""


class DeviationNote(Frozen):
    """The author's words on one deviation."""

    field: PlanField
    note: Said
    """Why, and what follows from it."""
    load_bearing: Bearing | Annotated[tuple[Bearing, ...], Field(min_length=1)]
    """What it bears on; a list where that is several things."""

    @property
    def bears_on(self) -> tuple[Bearing, ...]:
        """``load_bearing`` as a list, whichever way it was written."""
        return self.load_bearing if isinstance(self.load_bearing, tuple) else (self.load_bearing,)


class Deviation(Frozen):
    """A difference between the plan and what the declaration and the evidence show."""

    field: PlanField
    planned: str
    found: str
    note: str = ""
    """The author's; empty where there is none, which no experiment passes ``check`` with."""
    bears_on: tuple[Bearing, ...] = ()

    @property
    def noted(self) -> bool:
        """Whether its author says something of it."""
        return bool(self.note)


class LedTo(Frozen):
    """A version of the skill that exists because of what an experiment found."""

    skill_version: Line
    note: Said
    """What was found, and what that version changes."""
