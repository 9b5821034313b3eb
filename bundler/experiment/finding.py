"""What a check of an experiment reports: a rule, what is wrong, and what to do."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeVar

from bundler.errors import BadDataError
from bundler.model.base import Frozen
from bundler.model.plan import Deviation

T = TypeVar("T")


class Rule(enum.StrEnum):
    """The minimum bar. Stable: reports and CI refer to the rules by these ids."""

    DECLARATION = "declaration"
    """experiment.yaml can be read and fits its schema."""
    PLACE = "place"
    """The folder is proof/<id>."""
    BASE_TASK = "base-task"
    """The base task is the declared one, to the byte."""
    OUTPUT = "output"
    """Each output is unedited, and the generated ones lie below outputs/."""
    UNLISTED_OUTPUT = "unlisted-output"
    """Every file below outputs/ is declared: an answer that is left out is a selection."""
    EXTRACTION = "extraction"
    """Each candidate is derived from its output by the stated rule."""
    HARNESS = "harness"
    """The harness defines the inputs and the reference, and imports NumPy alone."""
    COMPARISON = "comparison"
    """There are generated arms, with and without the skill, of as many outputs each."""
    SAME_MODEL = "same-model"
    """Each arm with the skill has one without it of the same model, and the other way round."""
    ONLY_SKILL = "only-skill"
    """Nothing but the skill differs between a model's arms."""
    SKILL = "skill"
    """The skill of an arm is as frozen, and of the version that its frontmatter states."""
    PROMPT = "prompt"
    """A prompt is the base task alone, or the skill, one LF and the base task."""
    CONTROLS = "controls"
    """On each ground one control must pass and one must fail."""
    HARDWARE = "hardware"
    """The hardware is stated, by the plan or by evidence from a GPU."""
    SHAPES = "shapes"
    """Each case states its sizes."""
    PLAN = "plan"
    """There is a plan, and it is no younger than the outputs."""
    DEVIATION = "deviation"
    """Each deviation from the plan has a note, and each note a deviation."""
    EVIDENCE = "evidence"
    """The recorded evidence is of these very files, complete, and listed."""
    NO_EVIDENCE = "no-evidence"
    """Each ground has recorded evidence."""
    STALE = "stale"
    """The skill has no version that is newer than those of the arms, or one that the experiment led to."""
    LED_TO = "led-to"
    """The versions that the experiment led to are there."""
    TODO = "todo"
    """No place is left that only the author can fill in."""


class Severity(enum.StrEnum):
    """Whether the experiment is below the minimum bar, or a reader should only know."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Frozen):
    """One rule that is not kept."""

    severity: Severity
    rule: Rule
    text: str
    """What is wrong, quoting the experiment. May hold a stranger's words."""
    hint: str
    """What to do next."""


class Checked(Frozen):
    """What the check of one experiment found."""

    folder: str
    experiment: str
    """Its id; empty where the declaration could not be read."""
    findings: tuple[Finding, ...]
    deviations: tuple[Deviation, ...] = ()
    """All of them, those with a note too."""

    @property
    def errors(self) -> int:
        """How many findings keep the experiment below the bar."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)


def error(rule: Rule, text: str, hint: str) -> Finding:
    """A finding that keeps the experiment below the bar."""
    return Finding(severity=Severity.ERROR, rule=rule, text=encodable(text), hint=hint)


def warning(rule: Rule, text: str, hint: str) -> Finding:
    """A finding that a reader should know of."""
    return Finding(severity=Severity.WARNING, rule=rule, text=encodable(text), hint=hint)


def encodable(text: str) -> str:
    """``text`` with what UTF-8 does not have escaped: a file's name may be any bytes."""
    return text.encode("utf-8", "backslashreplace").decode()


class Findings:
    """Collects what is wrong, and goes on."""

    def __init__(self) -> None:
        self.all: list[Finding] = []

    def attempt(self, rule: Rule, step: Callable[[], T]) -> T | None:
        """What ``step`` gives; None, and a finding, where it raises that its data breaks a rule."""
        try:
            return step()
        except BadDataError as raised:
            self.all.append(error(rule, raised.problem, raised.hint))
            return None
