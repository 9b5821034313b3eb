"""Replayed evidence held against the recorded."""

from __future__ import annotations

import enum

from bundler.model.base import Frozen, Id
from bundler.model.evidence import GroundName


class Judgement(enum.StrEnum):
    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    NOT_JUDGED = "not judged"


class CellVerdict(Frozen):
    """One cell: what was recorded, what was replayed, and what that means."""

    candidate: Id
    case: str
    judgement: Judgement
    recorded: str
    replayed: str
    why: str = ""
    """For ``differs`` and ``not judged``."""


class GroundVerdict(Frozen):
    """All cells of one ground."""

    ground: GroundName
    source: str
    """The recorded evidence that it is held against; empty when there is none."""
    cells: tuple[CellVerdict, ...]
    ptx_same: int = 0
    """Compile grounds: cells whose kernels have the very same PTX as recorded."""
    ptx_other: int = 0
    reason: str = ""
    """Why the whole ground is not judged."""

    def count(self, judgement: Judgement) -> int:
        """How many cells have ``judgement``."""
        return sum(cell.judgement is judgement for cell in self.cells)


class Verdict(Frozen):
    """All grounds of one replay."""

    grounds: tuple[GroundVerdict, ...]
    complete: bool

    def count(self, judgement: Judgement) -> int:
        """How many cells of all grounds have ``judgement``."""
        return sum(ground.count(judgement) for ground in self.grounds)
