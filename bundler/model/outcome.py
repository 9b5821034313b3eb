"""What one cell gave, from a closed list. A status and a detail that do not go together cannot be built."""

from __future__ import annotations

import enum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from bundler.model.base import Foreign

MOST_SHOWN = 4000
Shown = Annotated[str, StringConstraints(max_length=MOST_SHOWN)]
"""Text that an untrusted process produced. Shown escaped, never interpreted."""


class Phase(enum.StrEnum):
    IMPORT = "import"
    COMPILE = "compile"
    LAUNCH = "launch"
    RUN = "run"


class Why(enum.StrEnum):
    """Why a cell was not run."""

    NO_DEVICE = "no-device"
    NEEDS = "needs"
    """The host lacks what the case needs."""
    NOT_ON_THIS_GROUND = "not-on-this-ground"
    SLOW = "slow"
    """It takes long on this ground, and slow cells were not asked for."""
    NO_LAUNCH = "no-launch"
    """Nothing to compile: the wrapper launched no kernel for this input."""
    NO_MEMORY = "no-memory"
    """The inputs themselves did not fit: the judge's shortage, not the candidate's."""
    UNSUPPORTED_HOST = "unsupported-host"
    """The host is too new or too old for the bundled toolchain."""
    INFRASTRUCTURE = "infrastructure"
    """The replay itself failed."""
    INTERRUPTED = "interrupted"


class Mark(enum.StrEnum):
    """What is worth knowing of a cell beside its outcome. From the worker's claims."""

    NO_OWN_KERNEL = "launched no kernel of its own"
    INPUT_CHANGED = "changed its input"
    FIRST_CALL_ONLY = "only the first call is wrong"
    LATER_CALLS_ONLY = "the first call is right, a later one is not"
    NOT_BITWISE_STABLE = "repeats differ in their bits, within the tolerance"
    UNDEFINED_LOAD = "loads under a mask without other, so what those lanes hold is undefined"
    """Read from the source; the outcome is by what it gave."""
    RIGHT_ALONE = "ended its process after other cells, right in one of its own"


class Passed(Foreign):
    outcome: Literal["passed"] = "passed"
    marks: tuple[Mark, ...] = ()
    error: float | None = None
    """The largest error in units of the tolerance (1 is the limit); None where nothing was compared."""
    kernels: tuple[int, ...] = ()
    """Compile grounds: what was compiled, as indices into the evidence's table."""
    differs_from_source: int | None = None
    """Ports, on the device: elements further from the source kernel's than the tolerance, over all sets;
    None where the two were not compared."""


class Wrong(Foreign):
    outcome: Literal["wrong"] = "wrong"
    marks: tuple[Mark, ...] = ()
    what: Literal["values", "shape", "dtype", "type", "layout", "device", "count", "size", "no-own-kernel"]
    call: int = Field(ge=0)
    """The first call that was wrong, from 0."""
    detail: Shown
    wrong_elements: int | None = None
    of_elements: int | None = None
    nan_elements: int | None = None
    """Elements that are NaN where the reference is not."""
    error: float | None = None
    """The largest finite error in units of the tolerance."""
    differs_from_source: int | None = None
    """As with a cell that passed."""


Resource = Literal["out-of-memory", "out-of-resources", "grid-too-large", "no-process"]
"""What there was too little of, as the worker claims it; no-process: the host starts no more of them."""


class Failed(Foreign):
    outcome: Literal["failed"] = "failed"
    phase: Phase
    error: Shown
    """Type and text of the exception, as the worker claims them."""
    resource: Resource | None = None


class Crashed(Foreign):
    outcome: Literal["crashed"] = "crashed"
    detail: Shown
    """The signal or the exit status."""


class TimedOut(Foreign):
    outcome: Literal["timed-out"] = "timed-out"
    limit_seconds: float


class Unstable(Foreign):
    outcome: Literal["unstable"] = "unstable"
    """Repeats on the same values disagree by more than the tolerance."""
    detail: Shown


class NotRun(Foreign):
    outcome: Literal["not-run"] = "not-run"
    why: Why
    detail: Shown = ""


Outcome = Annotated[
    Passed | Wrong | Failed | Crashed | TimedOut | Unstable | NotRun, Field(discriminator="outcome")
]


def kind(outcome: Passed | Wrong | Failed | Crashed | TimedOut | Unstable | NotRun) -> str:
    """The outcome in one word or two: what a replay is held against, as ``failed (compile)``."""
    if isinstance(outcome, Failed):
        return f"failed ({outcome.phase})"
    return outcome.outcome


def ran(outcome: Passed | Wrong | Failed | Crashed | TimedOut | Unstable | NotRun) -> bool:
    """Whether the cell says anything of the kernel."""
    return not isinstance(outcome, NotRun)
