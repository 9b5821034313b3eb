"""What of a device changes while a timing runs."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from bundler.host.devices import Device, list_devices, opened, read_fields
from bundler.host.fields import SAMPLED, STABLE
from bundler.host.nvml import NvmlLibrary, Session, ask, real_nvml
from bundler.host.system import is_wsl2
from bundler.model.host import Gpu, Read, Reading, Unread

Sample = dict[str, Reading]
"""``fields.SAMPLED``'s names and ``event_reasons``."""


class Sampler:
    """Keeps NVML open over several samples of one device; a context manager. Raises none of NVML's errors.

    It asks in this process: a clock read takes about 2 µs, a process of its own 0.3 s. Use it on a GPU
    that ``probe_host`` has read, so that this NVML has answered before.
    """

    def __init__(
        self,
        gpu: Gpu,
        nvml: NvmlLibrary | None = None,
        *,
        own: Collection[int] = (),
        wsl2: bool | None = None,
    ) -> None:
        """``own``: the ids of the processes that are not "other" ones, the timed worker's say."""
        self._gpu = gpu
        self._nvml = nvml or real_nvml()
        self._own = own
        self._wsl2 = is_wsl2() if wsl2 is None else wsl2
        self._stack = ExitStack()
        self._session: Session | None = None
        self._device = Device(-1, None, refused=_refusal("the sampler was not opened"))

    def __enter__(self) -> Self:
        session = self._stack.enter_context(opened(self._nvml, wsl2=self._wsl2))
        if isinstance(session, str):
            self._device = Device(-1, None, refused=_refusal(session))
        else:
            self._session = session
            self._device = _find(session, self._gpu)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def sample(self) -> Sample:
        """Read now."""
        session = self._session or Session(self._nvml)
        return read_fields(session, self._device, SAMPLED, self._own)


def sample(
    gpu: Gpu, nvml: NvmlLibrary | None = None, *, own: Collection[int] = (), wsl2: bool | None = None
) -> Sample:
    """One sample; for several, a Sampler saves opening NVML each time."""
    with Sampler(gpu, nvml, own=own, wsl2=wsl2) as sampler:
        return sampler.sample()


def _refusal(why: str) -> Unread:
    return Unread(status="not_available", code=why, call="nvmlInit")


def _find(session: Session, gpu: Gpu) -> Device:
    """The device again, by what identifies it and never by its place in a list."""
    found = list_devices(session)
    if isinstance(found, str):
        return Device(-1, None, refused=_refusal(found))
    for name in ("uuid_sha256", "pci_bus_id"):
        wanted = gpu.fields.get(name)
        if isinstance(wanted, Read):
            same = (each for each in found if _has(session, each, name, wanted))
            return next(same, Device(-1, None, refused=_refusal(f"NVML lists no device with this {name}")))
    return Device(-1, None, refused=_refusal("neither UUID nor PCI bus id of the device could be read"))


def _has(session: Session, each: Device, name: str, wanted: Read) -> bool:
    if each.refused:
        return False
    answer = ask(session, each.handle, STABLE[name])
    return isinstance(answer, Read) and answer.value == wanted.value
