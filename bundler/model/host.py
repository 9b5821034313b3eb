"""The machine of a replay. A field is a value, or the stated reason why there is none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bundler.model.base import Frozen

Value = bool | int | float | str | tuple[str, ...]


class Read(Frozen):
    status: Literal["ok"] = "ok"
    value: Value
    call: str
    """The function that answered."""


class Unread(Frozen):
    status: Literal["not_supported", "no_permission", "function_missing", "not_available", "error"]
    code: str = ""
    """The library's own code or text."""
    call: str


Reading = Annotated[Read | Unread, Field(discriminator="status")]


class Gpu(Frozen):
    """One NVIDIA device. Bytes, MHz, watts, degrees Celsius, as the field's name says."""

    index: int
    fields: dict[str, Reading]


class Host(Frozen):
    """What a replay ran on."""

    system: dict[str, Reading]
    """Operating system, processor, memory, driver."""
    software: dict[str, str]
    """Python and the packages that decide what is compiled: torch, triton, numpy."""
    gpus: tuple[Gpu, ...] = ()
    no_gpu: str = ""
    """Why there is none, where there is none."""
