"""The machine of a replay. A field is a value, or the stated reason why there is none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bundler.model.base import Foreign

Value = bool | int | float | str | tuple[str, ...]


class Read(Foreign):
    status: Literal["ok"] = "ok"
    value: Value
    call: str
    """The function that answered."""


class Unread(Foreign):
    status: Literal["not_supported", "no_permission", "function_missing", "not_available", "error"]
    code: str = ""
    """The library's own code or text."""
    call: str


Reading = Annotated[Read | Unread, Field(discriminator="status")]


class Gpu(Foreign):
    """One NVIDIA device, or one MIG slice. Bytes, MHz, W, °C, ns, as the field's name says."""

    index: int
    """Its place in the host's list. NVML's index and CUDA's ordinal are fields: neither need be the same."""
    fields: dict[str, Reading]


class Host(Foreign):
    """What a replay ran on."""

    system: dict[str, Reading]
    """Operating system, processor, memory, driver."""
    software: dict[str, str]
    """Python and the packages that decide what is compiled: torch, triton, numpy."""
    gpus: tuple[Gpu, ...] = ()
    no_gpu: str = ""
    """Why there is none, where there is none."""

    def cuda_device(self, ordinal: int = 0) -> Gpu | None:
        """What CUDA calls device ``ordinal``; None where no device is known to be it."""
        for gpu in self.gpus:
            known = gpu.fields.get("cuda_ordinal")
            if isinstance(known, Read) and known.value == ordinal:
                return gpu
        return None

    @property
    def used_gpus(self) -> tuple[Gpu, ...]:
        """What a replay runs on: CUDA's first device; all of them, where none is known to be it."""
        device = self.cuda_device()
        return (device,) if device else self.gpus
