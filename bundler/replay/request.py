"""What a replay is asked for, and who looks on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from bundler.digest import Digest
from bundler.model.evidence import Evidence
from bundler.model.experiment import Ground


@dataclass(frozen=True)
class Request:
    """What is to be replayed."""

    device: bool = True
    interpreter: bool = True
    architectures: tuple[int, ...] = ()
    """Compute capabilities times ten, for the compile grounds."""
    narrow: bool = False
    """Whether those are fewer than ``--ground compile`` means."""
    seed: int = 0
    candidates: tuple[str, ...] | None = None
    """None: all. Controls always run: without them nothing shows that a ground can tell."""
    cases: tuple[str, ...] | None = None
    jobs: int = 0
    """Candidates at a time; 0: chosen for each ground by the host's processors and the device's memory."""
    bundle: Digest | None = None
    time: bool = False
    """Whether the cells that the experiment names are timed on the device."""
    slow: bool = False
    """Whether cells that are slow on their ground are run too."""

    @property
    def cpu_jobs(self) -> int:
        """Candidates at a time on a ground that needs no device."""
        return self.jobs or processors()

    def grounds(self) -> tuple[str, ...]:
        """The names of the grounds, in the order in which they run."""
        names = [Ground.DEVICE.value] if self.device else []
        names += [f"compile:sm_{sm}" for sm in self.architectures]
        return (*names, Ground.INTERPRETER.value) if self.interpreter else tuple(names)


def processors() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Step:
    """Progress: how many of a ground's cells are judged; architectures count apart."""

    ground: str
    done: int
    total: int


@dataclass
class Watch:
    """Who looks on: called from several threads, one at a time."""

    step: Callable[[Step], None] = lambda step: None
    checkpoint: Callable[[Evidence], None] = lambda evidence: None
    """Given the evidence so far, marked incomplete, at most every few seconds."""
