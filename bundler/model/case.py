"""The cases of an experiment: groups along axes, and what becomes of them."""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from bundler.model.base import Frozen
from bundler.model.comparison import Returned

Parameter = bool | int | float | str
MAX_CASES = 10_000


class Ground(enum.StrEnum):
    """A kind of ground; ``compile`` is judged for each architecture apart."""

    DEVICE = "device"
    INTERPRETER = "interpreter"
    COMPILE = "compile"


class Needs(Frozen):
    """What a host must have for a case to be run; without it the cell is ``not-run``."""

    device_memory_gib: float = Field(0, ge=0)
    """Free memory of the device before the case, in GiB."""
    min_sm: int = 0
    """Compute capability times ten."""


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
    slow: tuple[Ground, ...] = ()
    """Those of ``grounds`` on which a cell takes long: it is run where slow cells are asked for."""
    returns: tuple[Returned, ...] | None = Field(None, min_length=1, max_length=16)
    """What these cases return, where it is not the experiment's: another dtype has another tolerance."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for ground in self.slow:
            if ground not in self.grounds:
                raise ValueError(
                    f"slow on {ground.value}, where {self.id!r} is not judged: its grounds are "
                    f"{', '.join(self.grounds)}"
                )
        return self


class Case(Frozen):
    """One set of inputs, by its parameters."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._+=x/-]+$", max_length=200)]
    params: dict[str, Parameter]
    needs: Needs
    grounds: tuple[Ground, ...]
    slow: tuple[Ground, ...] = ()
    returns: tuple[Returned, ...] | None = None
    """As its group's."""

    def meaning(self) -> dict[str, object]:
        """What decides what its cells mean. The grounds where it is slow are no part of it: evidence from
        before one was added stays what it is."""
        values = self.model_dump(mode="json", exclude_none=True, exclude={"slow"})
        return values | {"grounds": [ground.value for ground in self.grounds if ground not in self.slow]}


def expanded(groups: Iterable[CaseGroup]) -> tuple[Case, ...]:
    """Every case, in the order of the groups, the last axis fastest. Raises ValueError."""
    cases: list[Case] = []
    for group in groups:
        for entries in itertools.product(*group.axes):
            params = _merge(group.params, entries)
            cases.append(
                Case(
                    id=_fill(group.id, params),
                    params=params,
                    needs=group.needs,
                    grounds=group.grounds,
                    slow=group.slow,
                    returns=group.returns,
                )
            )
            if len(cases) > MAX_CASES:
                raise ValueError(f"over {MAX_CASES} cases")
    return tuple(cases)


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
