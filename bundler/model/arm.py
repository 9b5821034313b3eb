"""The arms of an experiment: one model with one state of the skill, or the author's own kernels."""

from __future__ import annotations

import enum
from typing import Self

from pydantic import Field, model_validator

from bundler.digest import Digest
from bundler.model.base import Frozen, Id, Name, RelativePath, Text
from bundler.model.case import Ground


class Language(enum.StrEnum):
    """What a candidate is written in."""

    TRITON = "triton"
    """A Python module with Triton kernels and the function that launches them."""
    CUDA = "cuda"
    """CUDA C++ with an ``extern "C" __global__`` function; the experiment says how it is launched."""


class Origin(enum.StrEnum):
    """Where an arm's candidates come from."""

    GENERATED = "generated"
    """A model wrote them; the outputs are unedited."""
    RECONSTRUCTED = "reconstructed"
    """Written afterwards from a published description. Never evidence for or against a skill."""
    CONTROL = "control"
    """Written by the author of the harness to be right or wrong on purpose."""
    SOURCE = "source"
    """The kernel that the base task asks to port, extracted from the base task: the specification. It is
    run as a control, and ports are held against it as well as against the reference."""


class Output(Frozen):
    """One answer of a model, or one kernel of the author's, as a file."""

    path: RelativePath
    """Relative to the experiment's folder."""
    sha256: Digest
    """Of the file's bytes: an output is never edited."""


class SkillState(Frozen):
    """The version of the skill that an arm's model was given."""

    path: RelativePath
    """Relative to the repository's root."""
    version: str
    sha256: Digest


class Expect(enum.StrEnum):
    """What a control must do on the grounds that it is declared for."""

    PASS = "pass"  # noqa: S105 (no password)
    """Every judged cell passes."""
    FAIL = "fail"
    """At least one judged cell does not pass."""


class ModelFacts(Frozen):
    """What is known of the model and how it was asked; what is not known is said to be unknown."""

    name: str
    version: str
    sampling: str
    system_prompt: str
    date: str
    """ISO 8601, the day on which the outputs were made."""
    procedure: Text


class Arm(Frozen):
    """One model with one state of the skill, or the author's own kernels."""

    name: Name
    origin: Origin
    summary: Text = ""
    """For a reconstruction: what it follows, and where that was published. For a control: how it is right
    or wrong."""
    skill: SkillState | None = None
    model: ModelFacts | None = None
    """Generated arms only: the model, where it is not the experiment's."""
    prompt_sha256: Digest | None = None
    """Of the bytes that the model was given: the base task, or the skill, one LF and the base task."""
    outputs: tuple[Output, ...] = Field(min_length=1, max_length=100)
    language: Language | None = None
    """Where it is not the experiment's."""
    expect: Expect | None = None
    """Controls and source only."""
    on: tuple[Ground, ...] = tuple(Ground)
    """The grounds on which ``expect`` is held against a control."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.is_control != (self.expect is not None):
            raise ValueError(f"arm {self.name!r}: expect belongs to controls, and every control has one")
        if (self.origin is Origin.GENERATED) != (self.prompt_sha256 is not None):
            raise ValueError(f"arm {self.name!r}: prompt_sha256 belongs to generated arms, and each has one")
        if self.origin is not Origin.GENERATED and self.model is not None:
            raise ValueError(f"arm {self.name!r}: model belongs to generated arms")
        return self

    def candidates(self) -> tuple[Candidate, ...]:
        """Its candidates, in the order of its outputs."""
        return tuple(
            Candidate(id=f"{self.name}/{_stem(output.path)}", arm=self, output=output)
            for output in self.outputs
        )

    @property
    def is_control(self) -> bool:
        """Whether it has to behave as declared for a ground to count: a control, or the source kernel."""
        return self.origin in (Origin.CONTROL, Origin.SOURCE)


class Candidate(Frozen):
    """The kernel that one output holds."""

    id: Id
    arm: Arm
    output: Output


def _stem(path: str) -> str:
    """The file's name in an id, which has no underscore: a source kernel lies in ``base_task.md``."""
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0].replace("_", "-")
