"""What an experiment wants timed, and what timing it gave: raw samples, and a verdict that goes with them."""

from __future__ import annotations

import enum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from bundler.model.base import Foreign, Frozen, Id, Name
from bundler.model.cuda import Expression
from bundler.model.host import Reading
from bundler.model.outcome import Shown

RuleId = Annotated[str, StringConstraints(pattern=r"^T[0-9]{2}$")]
MAX_SAMPLES = 4000
MAX_PROCESSES = 20


class Cache(enum.StrEnum):
    """What stands in the L2 when a timed call begins."""

    COLD = "cold"
    """Nothing of the call's: a buffer of at least twice the L2 was overwritten before."""
    WARM = "warm"
    """What earlier calls left there."""


class Method(enum.StrEnum):
    """How one sample is taken."""

    EVENTS = "events"
    """CUDA events around one call that was enqueued while a blocking kernel still ran."""
    GRAPH = "graph"
    """CUDA events around a graph of several calls, divided by their number."""


class TimingPlan(Frozen):
    """Which cells an experiment wants timed, and the least work that each of them has to do."""

    cases: tuple[str, ...] = Field(min_length=1, max_length=50)
    """Ids of cases."""
    bytes: Expression
    """Bytes that a call has to move at least: each input read once, each output written once. An expression
    of the case, as ``cuda`` has them."""
    flops: Expression | None = None
    """Operations of a call, a fused multiply-add counted as two. None: arithmetic bounds nothing."""
    arms: tuple[Name, ...] | None = None
    """None: the generated arms, and the controls that must pass."""
    cache: Cache = Cache.COLD


class ClockProbe(Foreign):
    """A kernel's reading of its SM's clock (``%clock64``) against ``%globaltimer``."""

    cycles: int = Field(ge=0)
    ns: int = Field(gt=0)

    @property
    def mhz(self) -> float:
        """The SM clock in MHz."""
        return 1000 * self.cycles / self.ns


class Stopwatch(Foreign):
    """Seconds by the judge's own clock, around requests that the worker answers once the device is idle."""

    calls: int = Field(gt=0)
    """N."""
    with_call: tuple[tuple[float, float], ...] = Field(max_length=50)
    """For N and for 2N rounds of a flush and a call."""
    without_call: tuple[tuple[float, float], ...] = Field((), max_length=50)
    """The same rounds without the call; empty where there is no flush."""
    covered: bool = True
    """Whether, as the worker claims, the rounds of at least two repeats were enqueued before the first began;
    then only such repeats are here."""


Phase = Literal["before", "during", "after"]


class HostSample(Foreign):
    """The device as NVML tells it."""

    phase: Phase
    """Before the timed process was started, while it ran samples, after it ended."""
    fields: dict[str, Reading]
    lists_own: bool | None = None
    """Whether NVML's list has the timed process itself; None where that was not asked or not answered."""


class ProcessTiming(Foreign):
    """What one fresh process gave."""

    samples_us: tuple[float, ...] = Field((), max_length=MAX_SAMPLES)
    """One call each, µs, in the order in which they were taken. The worker's claims."""
    starved: int = 0
    """Samples whose blocking kernel had ended before the call was enqueued: launching it is in them."""
    seconds: float = 0
    """How long measuring took, by the judge's clock."""
    converged: bool = False
    """Whether the criterion for enough samples was met before the cap."""
    clocks: tuple[ClockProbe, ...] = ()
    stopwatch: Stopwatch | None = None
    checked: int = 0
    """Timed calls whose outputs were held against the reference."""
    wrong: Shown = ""
    """How such an output was wrong; empty when none was."""
    persisting_reset: bool | None = None
    """Whether persisting lines of the L2 were reset before each sample; None where that is not known."""
    host: tuple[HostSample, ...] = Field((), max_length=200)
    problem: Shown = ""
    """Why the process gave no more than this."""


class State(enum.StrEnum):
    """Whether a timing may be claimed."""

    ADMISSIBLE = "admissible"
    WITHHELD = "withheld"
    UNDETERMINED = "undetermined"
    """Something that decides could not be read."""


class Reason(Foreign):
    """One rule that a timing does not satisfy."""

    rule: RuleId
    name: Name
    text: Shown
    """Free of the numbers that are withheld."""


class TimingVerdict(Foreign):
    """All reasons, and what a reader of an admissible number has to know beside it."""

    state: State
    withheld: tuple[Reason, ...] = ()
    undetermined: tuple[Reason, ...] = ()
    labels: tuple[Reason, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.withheld:
            right = State.WITHHELD
        else:
            right = State.UNDETERMINED if self.undetermined else State.ADMISSIBLE
        if self.state is not right:
            raise ValueError(f"these reasons make a timing {right}, not {self.state}")
        return self

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why it may not be claimed."""
        return self.withheld + self.undetermined


class TimedCell(Foreign):
    """One candidate on one case: raw data, which nobody is to quote unless ``verdict`` is admissible."""

    candidate: Id
    case: str
    cache: Cache
    method: Method = Method.EVENTS
    calls_a_sample: int = 1
    """Calls in one graph; 1 for events."""
    call_bytes: int
    """Storage of the arguments and of the returned tensors of one call."""
    sets: int
    """Sets of inputs that the calls take in turn, each in buffers of its own."""
    flush_bytes: int = 0
    bytes: float | None = None
    """As the experiment declares it for this case."""
    flops: float | None = None
    processes: tuple[ProcessTiming, ...] = Field((), max_length=MAX_PROCESSES)
    not_timed: Shown = ""
    """Why nothing was measured; empty when something was."""
    verdict: TimingVerdict | None = None
    """By the rules of the bundler that measured; None exactly where nothing was measured."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if bool(self.not_timed) == bool(self.processes):
            raise ValueError("a cell has processes, or a reason why it was not timed")
        return self


class Timings(Foreign):
    """All that one replay timed, on one device."""

    gpu: int
    """The device, by its place in the host's list."""
    interleaved: bool
    """Whether the candidates' processes took turns."""
    cells: tuple[TimedCell, ...] = ()
