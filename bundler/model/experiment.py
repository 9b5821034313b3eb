"""``experiment.yaml``: everything that an experiment declares."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from bundler.model.arm import Arm, Candidate, Expect, Language, ModelFacts, Origin, Output
from bundler.model.base import Frozen, Id, Name, RelativePath, Text
from bundler.model.case import MAX_CASES, Case, CaseGroup, Ground, expanded
from bundler.model.comparison import Comparison, Derived, NanRule, Returned, ZeroRule
from bundler.model.cuda import CudaCall
from bundler.model.plan import DeviationNote, LedTo, Plan
from bundler.model.timing import TimingPlan

__all__ = [
    "MAX_CANDIDATES", "MAX_CASES", "Arm", "Candidate", "Case", "Comparison", "Expect", "Experiment",
    "ExtractionRule", "Ground", "Harness", "Language", "Limits", "ModelFacts", "NanRule", "Origin",
    "Output", "Returned", "Runtime", "ZeroRule", "by_arm",
]  # fmt: skip
"""Others import the whole model from here, wherever a part of it is written."""

Version = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9a-z.]*$", max_length=40)]
MAX_CANDIDATES = 1_000
_SLOWER = 10
"""How many times as long a slow cell may take, where the limits do not say."""


class ExtractionRule(enum.StrEnum):
    """How the candidate is found in an output. Stated in the experiment, stored with it."""

    ONLY_BLOCK_PYTHON = "only-block:python"
    """The output has one fenced code block, and its info string begins with python, python3 or py."""
    ONLY_BLOCK_CUDA = "only-block:cuda"
    """The same for cuda, cu, cpp or c++: highlighters know few of CUDA's own names."""

    @property
    def fences(self) -> frozenset[str]:
        """What the first word of the block's info string may be, in lower case."""
        return _FENCES[self]


_FENCES = {
    ExtractionRule.ONLY_BLOCK_PYTHON: frozenset({"python", "python3", "py"}),
    ExtractionRule.ONLY_BLOCK_CUDA: frozenset({"cuda", "cu", "cpp", "c++"}),
}


class CrossCheck(Frozen):
    """The same arithmetic as a candidate's, again in plain NumPy: the harness's ``cross_check``.

    It tells a fault of the arithmetic from one of the ground on which the candidate was seen to fail.
    """

    of: Id
    """The candidate whose arithmetic it repeats."""
    says: Text
    """What agreement shows, in a sentence."""


class Limits(Frozen):
    """What one worker may use."""

    cell_seconds: float = Field(120, gt=0, le=3600)
    """Wall clock for one cell, compilation included."""
    slow_cell_seconds: float | None = Field(None, gt=0, le=36_000)
    """The same where the case is slow on the ground; None: ten times ``cell_seconds``."""
    host_memory_gib: float = Field(8, gt=0)


class Runtime(Frozen):
    """What the experiment is to be replayed in."""

    name: Name
    """A runtime of ``images/``."""
    torch: Version
    triton: Version

    def differences(self, software: Mapping[str, str]) -> dict[str, str]:
        """In which versions ``software`` is another, in words; a local suffix as +cpu does not count."""
        return {
            name: f"{software.get(name, 'none')} here, {pinned} pinned"
            for name, pinned in (("torch", self.torch), ("triton", self.triton))
            if software.get(name, "").split("+")[0] != pinned
        }


class Harness(Frozen):
    """The trusted part: where the inputs and the reference are computed."""

    path: RelativePath
    sets: int = Field(3, ge=1, le=8)
    """How many sets of values each case has: the same shapes and strides, other values."""
    reference: Annotated[str, StringConstraints(max_length=400)] = ""
    """What the right answer is computed by, in a line. A plan's ``reference`` is held against it."""


class Experiment(Frozen):
    """One before/after comparison of a skill on a task."""

    schema_: Literal["bundler/experiment/1"] = Field(alias="schema")
    id: Id
    """Category and kernel: the folder below ``proof/``."""
    title: str = Field(max_length=200)
    skill: Id
    """The skill's folder below ``skills/``."""
    language: Language
    entry: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    """The function that a candidate must define."""
    cuda: CudaCall | None = None
    """How candidates in CUDA C++ are compiled and launched; there exactly where an arm has such."""
    base_task: Output
    extraction: ExtractionRule
    """The rule for generated outputs; the other arms' files are sources as they are."""
    model: ModelFacts
    arms: tuple[Arm, ...] = Field(min_length=1, max_length=100)
    harness: Harness
    returns: tuple[Returned, ...] = Field(min_length=1, max_length=16)
    derived: tuple[Derived, ...] = Field((), max_length=16)
    """Judged beside what is returned; the reference has their values after those of the returned tensors."""
    cross_check: CrossCheck | None = None
    own_kernel: Literal["required", "reported"] = "required"
    """Whether an answer that launched no kernel of its own is wrong, or only marked."""
    cases: tuple[CaseGroup, ...] = Field(min_length=1)
    architectures: tuple[int, ...] = (75, 80, 86, 89, 90, 100, 120)
    """For the compile grounds: compute capabilities times ten."""
    limits: Limits = Limits()
    timing: TimingPlan | None = None
    """Which cells are timed where timing is asked for; None: none."""
    runtime: Runtime
    evidence: tuple[RelativePath, ...] = ()
    """The recorded evidence, relative to the experiment's folder."""
    notes: Text = ""
    plan: Plan | None = None
    """What was said before the run."""
    deviations: tuple[DeviationNote, ...] = ()
    """The author's notes on where the run is not as planned; which deviations there are is derived."""
    led_to: tuple[LedTo, ...] = ()
    """Versions of the skill that exist because of this experiment."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _unique("arm", [arm.name for arm in self.arms])
        _unique("candidate", [candidate.id for candidate in self.candidates()])
        _unique("case", [case.id for case in self.expand()])
        _unique("deviation", [note.field.value for note in self.deviations])
        _unique("led_to", [step.skill_version for step in self.led_to])
        _unique("returned or derived", [r.name for r in self.returns] + [d.name for d in self.derived])
        if not self.derived and any(r.compare is None for returns in self._returns() for r in returns):
            raise ValueError("a returned tensor without compare is judged by nothing: add derived")
        if (self.cuda is not None) != any(self.language_of(arm) is Language.CUDA for arm in self.arms):
            raise ValueError("cuda belongs to experiments with candidates in CUDA C++, and each has it")
        if self.cross_check and self.cross_check.of not in [c.id for c in self.candidates()]:
            raise ValueError(f"cross_check is of {self.cross_check.of!r}, which is no candidate")
        if self.timing:
            _known("timing: case", self.timing.cases, [case.id for case in self.expand()])
            _known("timing: arm", self.timing.arms or (), [arm.name for arm in self.arms])
        if len(self.candidates()) > MAX_CANDIDATES:
            raise ValueError(f"{len(self.candidates())} candidates are over the limit of {MAX_CANDIDATES}")
        return self

    def model_of(self, arm: Arm) -> ModelFacts:
        """The model that wrote the outputs of a generated arm."""
        return arm.model or self.model

    def comparisons(self) -> tuple[Comparison, ...]:
        """Every rule that an output is held against."""
        returned = tuple(r.compare for rs in self._returns() for r in rs if r.compare is not None)
        return returned + tuple(d.compare for d in self.derived)

    def language_of(self, arm: Arm) -> Language:
        """What an arm's candidates are written in."""
        return arm.language or self.language

    def _returns(self) -> tuple[tuple[Returned, ...], ...]:
        """What is returned, by any case."""
        return (self.returns, *(group.returns for group in self.cases if group.returns))

    def judging(self, case: Case) -> Experiment:
        """The same experiment with what ``case`` returns, where that is not the experiment's."""
        return self.model_copy(update={"returns": case.returns}) if case.returns else self

    def cell_seconds(self, case: Case, ground: Ground) -> float:
        """How long a cell of ``case`` may take on ``ground``, in seconds of wall clock."""
        if ground not in case.slow:
            return self.limits.cell_seconds
        return self.limits.slow_cell_seconds or _SLOWER * self.limits.cell_seconds

    def generated(self) -> tuple[Arm, ...]:
        """The arms whose outputs a model wrote."""
        return tuple(arm for arm in self.arms if arm.origin is Origin.GENERATED)

    def candidates(self) -> tuple[Candidate, ...]:
        """Every candidate, in the order of the arms and of their outputs."""
        return tuple(candidate for arm in self.arms for candidate in arm.candidates())

    def expand(self) -> tuple[Case, ...]:
        """Every case, in the order of the groups, the last axis fastest."""
        return expanded(self.cases)

    def slow_cases(self, *grounds: Ground) -> tuple[Case, ...]:
        """Those that are slow on any of the grounds."""
        return tuple(case for case in self.expand() if set(grounds) & set(case.slow))


def _unique(what: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r} is there twice")
        seen.add(name)


def _known(what: str, named: tuple[str, ...], there: list[str]) -> None:
    for name in named:
        if name not in there:
            raise ValueError(f"{what} {name!r} is not there")


def by_arm(experiment: Experiment) -> Iterator[tuple[Arm, tuple[Candidate, ...]]]:
    """The arms with their candidates."""
    for arm in experiment.arms:
        yield arm, arm.candidates()
