"""What the rules look at: a timed cell, the device's record, and readings out of both. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from bundler.model.evidence import GroundReport
from bundler.model.experiment import Experiment
from bundler.model.host import Gpu, Read, Reading
from bundler.model.timing import HostSample, Method, Phase, TimedCell

Kind = Literal["withheld", "undetermined", "label"]


@dataclass(frozen=True)
class Finding:
    """What one rule has to say."""

    kind: Kind
    text: str


Findings = Iterator[Finding]
"""What one rule says: nothing, or all that it sees."""


def withheld(text: str) -> Finding:
    """The timing may not be claimed."""
    return Finding("withheld", text)


def undetermined(text: str) -> Finding:
    """What decides was not read."""
    return Finding("undetermined", text)


def label(text: str) -> Finding:
    """A reader of the number has to know this."""
    return Finding("label", text)


def number(reading: Reading | None) -> float | None:
    """The value of a reading that is a number."""
    if isinstance(reading, Read) and isinstance(reading.value, int | float):
        return float(reading.value)
    return None


def why(reading: Reading | None) -> str:
    """Why there is no number: the reading's status and code."""
    if reading is None:
        return "not asked"
    if isinstance(reading, Read):
        return f"reads {str(reading.value)[:60]!r}"
    return f"{reading.status} {reading.code}".strip()


@dataclass(frozen=True)
class Around:
    """What else there is of a timing that was recorded."""

    ground: GroundReport | None
    """The device ground of the same evidence; None where it has none."""
    experiment: Experiment | None = None
    """None where none was named."""


@dataclass(frozen=True)
class Measured:
    """One cell's raw data beside the device that it was taken on."""

    cell: TimedCell
    gpu: Gpu | None
    around: Around | None = None
    """None while it is measured."""

    def field(self, name: str) -> Reading | None:
        """A field of the device's record."""
        return self.gpu.fields.get(name) if self.gpu else None

    def constant(self, name: str) -> float | None:
        """A number of the device's record; None where it was not read."""
        return number(self.field(name))

    @cached_property
    def medians(self) -> tuple[float, ...]:
        """Of each process that has samples, µs."""
        return tuple(float(np.median(p.samples_us)) for p in self.cell.processes if p.samples_us)

    @cached_property
    def median(self) -> float | None:
        """The median of the processes' medians, µs; None without samples."""
        return float(np.median(self.medians)) if self.medians else None

    def samples(self, *phases: Phase) -> Iterator[HostSample]:
        """The device's samples of these phases."""
        for process in self.cell.processes:
            yield from (sample for sample in process.host if sample.phase in phases)

    def readings(self, name: str, *phases: Phase) -> list[Reading | None]:
        """One field of every such sample."""
        return [sample.fields.get(name) for sample in self.samples(*phases)]

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """The reasons that held the clocks down while samples were taken, as far as they were read."""
        read = (number(reading) for reading in self.readings("event_reasons_mask", "during"))
        return tuple(int(mask) for mask in read if mask is not None)

    @cached_property
    def clocks_mhz(self) -> tuple[float, ...]:
        """The SM clock as the probe kernel read it."""
        return tuple(probe.mhz for process in self.cell.processes for probe in process.clocks)

    @property
    def by_events(self) -> bool:
        """Whether each sample is one call between two events."""
        return self.cell.method is Method.EVENTS
