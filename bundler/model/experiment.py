"""``experiment.yaml``: everything that an experiment declares."""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from bundler.digest import Digest
from bundler.model.base import Frozen, Id, Name, RelativePath, Text
from bundler.model.cuda import CudaCall
from bundler.model.plan import DeviationNote, LedTo, Plan
from bundler.model.timing import TimingPlan

SCHEMA = "bundler/experiment/1"
UNKNOWN = "unknown"

Parameter = bool | int | float | str
Version = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9a-z.]*$", max_length=40)]
MAX_CASES = 10_000
MAX_CANDIDATES = 1_000


class Ground(enum.StrEnum):
    """A kind of ground; ``compile`` is judged for each architecture apart."""

    DEVICE = "device"
    INTERPRETER = "interpreter"
    COMPILE = "compile"


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


class ExtractionRule(enum.StrEnum):
    """How the candidate is found in an output. Stated in the experiment, stored with it."""

    ONLY_BLOCK_PYTHON = "only-block:python"
    """The output has one fenced code block, and its info string begins with the word python."""
    ONLY_BLOCK_CUDA = "only-block:cuda"
    """The same for cuda."""

    @property
    def language(self) -> str:
        """The first word of the block's info string, exactly as it must be written."""
        return self.value.partition(":")[2]


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

    @property
    def is_control(self) -> bool:
        """Whether it has to behave as declared for a ground to count: a control, or the source kernel."""
        return self.origin in (Origin.CONTROL, Origin.SOURCE)


class Needs(Frozen):
    """What a host must have for a case to be run; without it the cell is ``not-run``."""

    device_memory_gib: float = Field(0, ge=0)
    """Free memory of the device before the case, in GiB."""
    min_sm: int = 0
    """Compute capability times ten."""


class NanRule(enum.StrEnum):
    EQUAL = "equal"
    """NaN is right exactly where the reference is NaN."""
    FORBIDDEN = "forbidden"
    """NaN is never right."""


class ZeroRule(enum.StrEnum):
    EQUAL = "equal"
    """+0 and -0 are the same answer."""
    SIGNED = "signed"
    """The sign of a zero has to agree."""


class Comparison(Frozen):
    """When an output's element is right: ``|out - reference| <= atol * scale + rtol * |reference|``.

    ``scale`` is 1 unless the harness gives one for each element (``Scaled``), as a sum's bound by the sum
    of the magnitudes needs it. Infinities are right exactly where the reference, rounded to the output's
    dtype, is the same infinity. With both tolerances 0 the output has to equal the reference rounded to its
    dtype.
    """

    atol: float = Field(0, ge=0)
    rtol: float = Field(0, ge=0)
    nan: NanRule
    zero: ZeroRule = ZeroRule.EQUAL
    reason: Text
    """Why these tolerances."""


class Returned(Frozen):
    """One tensor that the candidate returns; its shape is the reference's."""

    name: Name
    dtype: Literal[
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "int64", "int32", "int16", "int8", "uint8", "bool",
    ]  # fmt: skip
    contiguous: bool = True
    """Whether a result that is not contiguous is wrong."""
    compare: Comparison | None = None
    """None: only its form is judged, and its values through what the harness derives from them."""


class CaseGroup(Frozen):
    """Cases that differ along axes: every combination of one entry of each axis is a case."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """A pattern: ``{name}`` stands for a parameter."""
    axes: tuple[tuple[dict[str, Parameter], ...], ...] = ()
    params: dict[str, Parameter] = {}
    """Parameters that all of the group's cases share."""
    needs: Needs = Needs()
    grounds: tuple[Ground, ...] = tuple(Ground)
    """Where the case is judged; elsewhere its cells are ``not-run``."""
    returns: tuple[Returned, ...] | None = Field(None, min_length=1, max_length=16)
    """What these cases return, where it is not the experiment's: another dtype has another tolerance."""


class Case(Frozen):
    """One set of inputs, by its parameters."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._+=x/-]+$", max_length=200)]
    params: dict[str, Parameter]
    needs: Needs
    grounds: tuple[Ground, ...]
    returns: tuple[Returned, ...] | None = None
    """As its group's."""


class Derived(Frozen):
    """What the harness computes from a call's returned tensors (``derive``): the answer as it is used."""

    name: Name
    compare: Comparison


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

    def generated(self) -> tuple[Arm, ...]:
        """The arms whose outputs a model wrote."""
        return tuple(arm for arm in self.arms if arm.origin is Origin.GENERATED)

    def candidates(self) -> tuple[Candidate, ...]:
        """Every candidate, in the order of the arms and of their outputs."""
        return tuple(
            Candidate(id=f"{arm.name}/{_stem(output.path)}", arm=arm, output=output)
            for arm in self.arms
            for output in arm.outputs
        )

    def expand(self) -> tuple[Case, ...]:
        """Every case, in the order of the groups, the last axis fastest."""
        cases: list[Case] = []
        for group in self.cases:
            for entries in itertools.product(*group.axes):
                params = _merge(group.params, entries)
                cases.append(
                    Case(
                        id=_fill(group.id, params),
                        params=params,
                        needs=group.needs,
                        grounds=group.grounds,
                        returns=group.returns,
                    )
                )
                if len(cases) > MAX_CASES:
                    raise ValueError(f"over {MAX_CASES} cases")
        return tuple(cases)


class Candidate(Frozen):
    """The kernel that one output holds."""

    id: Id
    arm: Arm
    output: Output


def _stem(path: str) -> str:
    """The file's name in an id, which has no underscore: a source kernel lies in ``base_task.md``."""
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0].replace("_", "-")


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


def _merge(
    shared: Mapping[str, Parameter], entries: tuple[dict[str, Parameter], ...]
) -> dict[str, Parameter]:
    merged = dict(shared)
    for entry in entries:
        if again := merged.keys() & entry.keys():
            raise ValueError(f"parameter {min(again)!r} is set by two axes")
        merged |= entry
    return merged


def _fill(pattern: str, params: Mapping[str, Parameter]) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in params:
            raise ValueError(f"the case id {pattern!r} names {match[1]!r}, which is no parameter of it")
        return str(params[match[1]])

    return re.sub(r"\{([a-z_]+)\}", value, pattern)


def by_arm(experiment: Experiment) -> Iterator[tuple[Arm, tuple[Candidate, ...]]]:
    """The arms with their candidates."""
    for arm in experiment.arms:
        yield arm, tuple(c for c in experiment.candidates() if c.arm.name == arm.name)
