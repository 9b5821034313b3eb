"""How a target is to be replayed, and what comes of it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from bundler.experiment.load import Loaded
from bundler.model.evidence import Evidence
from bundler.replay.request import Request, Watch


class Engine(enum.StrEnum):
    """Where a bundle is run."""

    AUTO = "auto"
    """In Docker where it answers and the bundle has a runtime, else by this machine's own Python."""
    DOCKER = "docker"
    HOST = "host"


@dataclass(frozen=True)
class Replayed:
    """A replay's evidence and what it is to be held against."""

    loaded: Loaded
    evidence: Evidence
    notes: tuple[str, ...] = ()
    """What a reviewer should know of how it was run."""


@dataclass(frozen=True)
class Options:
    """How to run."""

    engine: Engine
    gpu: bool
    watch: Watch
    say: Callable[[str], None]
    """For what a container printed; the text is a stranger's."""
    own_replayer: bool = False
    """Outside a container, run the bundle's own replayer unconfined even where it is not this bundler."""


Plan = Callable[[Loaded], Request]
"""What is to be replayed, once it is known of which experiment."""
