"""``evidence.json``: the record of one replay."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic.fields import FieldInfo

from bundler.digest import Digest
from bundler.model.base import Foreign, Frozen, Id
from bundler.model.host import Host
from bundler.model.outcome import Outcome, Passed, Shown
from bundler.model.timing import Timings

SCHEMA = "bundler/evidence/1"

GroundName = Annotated[str, StringConstraints(pattern=r"^(device|interpreter|compile:sm_[0-9]{2,3})$")]


class Subject(Foreign):
    """What was replayed, so that evidence is never held against something else."""

    experiment: Id
    harness: Digest
    cases: Digest
    """Of the expanded cases, the returned tensors and their comparison rules."""
    candidates: dict[Id, Digest]
    """Each candidate's source."""
    bundle: Digest | None = None
    """The bundle's manifest digest, where the replay was told it."""
    replayer: str
    """Version of bundler."""
    replayer_from: Literal["installed", "bundle"] | None = None
    """Whose copy judged: the installed one or the bundle's own, where the replay was told it."""


class Kernel(Foreign):
    """One kernel that a compile ground made."""

    name: Shown
    ptx: Digest
    """Of the PTX text, line information off."""
    num_warps: int
    shared_bytes: int
    """Of one block, static and dynamic."""
    registers: int
    """Of one thread, from ptxas."""
    spill_bytes: int
    """Spill stores of one thread, from ptxas."""
    cubin: Digest | None = None
    """CUDA C++ only: of the machine code, which NVRTC makes beside the PTX."""


class GroundReport(Foreign):
    """One ground: its cells, or why it was not judged."""

    status: Literal["judged", "invalid", "not-available"]
    """invalid: a control misbehaved, so nothing on this ground can be trusted."""
    reason: Shown = ""
    cells: dict[Id, dict[str, Outcome]] = {}
    """Candidate, then case."""
    tuned: dict[Id, dict[str, Shown]] = {}
    """The configuration that each autotuned kernel chose last."""
    printed: dict[Id, Shown] = {}
    """The start of what a candidate printed."""
    seconds: float = 0
    isolation: dict[str, str] = {}
    """What confined the workers: ``held``, or why not."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.status == "judged") == bool(self.reason):
            raise ValueError("a ground that was not judged has a reason, and only such a one")
        return self


class Settings(Foreign):
    """What the replay was asked for."""

    seed: int
    grounds: tuple[GroundName, ...]
    candidates: tuple[Id, ...] | None = None
    """None: all."""
    cases: tuple[str, ...] | None = None
    slow: bool | None = None
    """Whether slow cells were asked for; None where the experiment has none."""


class Evidence(Foreign):
    """The record of one replay."""

    schema_: Literal["bundler/evidence/1"] = Field(alias="schema")
    subject: Subject
    started: str
    """ISO 8601, UTC."""
    seconds: float
    complete: bool
    """False when the replay was cut short: its cells are what it had."""
    host: Host
    not_as_pinned: dict[str, Shown] = {}
    """In which versions the host is not the experiment's runtime, by package."""
    settings: Settings
    judge_isolation: dict[str, str] = {}
    grounds: dict[GroundName, GroundReport]
    kernels: tuple[Kernel, ...] = ()
    cross_check: dict[str, Outcome] = {}
    """By case: what the harness's own NumPy arithmetic gave, where the experiment declares a cross-check."""
    timings: Timings | None = None
    """None where no timing was asked for, or no device was there."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for report in self.grounds.values():
            for candidate, row in report.cells.items():
                for case, outcome in row.items():
                    named = outcome.kernels if isinstance(outcome, Passed) else ()
                    if not all(0 <= index < len(self.kernels) for index in named):
                        raise ValueError(f"{candidate} on {case} names a kernel that is not in the table")
        return self


def evidence_json(evidence: Evidence) -> bytes:
    """The file's bytes: a field that may be left out and is empty is, a candidate's row and a kernel a line
    each. Read again, they give an equal evidence."""
    return (_lay_out(_dumped(evidence), 4) + "\n").encode()


def _dumped(value: Any) -> Any:
    if isinstance(value, Frozen):
        fields = type(value).model_fields.items()
        kept = [
            (f.alias or name, getattr(value, name))
            for name, f in fields
            if not _empty(f, getattr(value, name))
        ]
        return {key: _dumped(item) for key, item in kept}
    if isinstance(value, dict):
        return {key: _dumped(item) for key, item in value.items()}
    return [_dumped(item) for item in value] if isinstance(value, tuple | list) else value


def _empty(field: FieldInfo, value: Any) -> bool:
    """Whether reading the file gives the same without the field."""
    return not field.is_required() and value in (None, "", (), {})


def _lay_out(value: Any, levels: int) -> str:
    """JSON whose outermost ``levels`` have a line for each entry."""
    if levels == 0 or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    if isinstance(value, list):
        return "[\n" + ",\n".join(_lay_out(item, 0) for item in value) + "\n]"
    rows = (f"{json.dumps(key)}:{_lay_out(item, levels - 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(rows) + "\n}"
