"""The devices that NVML lists, MIG slices among them, and their fields."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import Field

from bundler.host.fields import SAMPLED, STABLE, Table
from bundler.host.nvml import Handle, NvmlLibrary, Session, ask, device, failure, named
from bundler.host.nvml import system as asked
from bundler.host.reasons import decode
from bundler.model.base import Frozen
from bundler.model.host import Read, Reading, Unread

_OF_A_SLICE = frozenset(
    {
        "name",
        "uuid_sha256",
        "memory_total_bytes",
        "memory_free_bytes",
        "memory_used_bytes",
        "utilization_percent",
        "memory_bus_width_bits",
        "other_compute_processes",
        "other_graphics_processes",
    }
)
"""A slice has its own. All else is the whole GPU's, which is asked where the slice does not answer."""


class NvmlReport(Frozen):
    """What NVML said."""

    failure: str = ""
    """Why NVML said nothing at all."""
    system: dict[str, Reading] = Field(default_factory=dict)
    devices: tuple[dict[str, Reading], ...] = ()


@dataclass(frozen=True)
class Device:
    """A GPU, or a MIG slice of one."""

    index: int
    """NVML's, of the whole GPU."""
    handle: Handle
    whole: Handle = None
    """The handle of the GPU that this is a slice of."""
    slice_number: int | None = None
    refused: Unread | None = None
    """Why there is no handle, where NVML counts a device and does not hand it out."""


_INIT_HINTS = {
    4: "no permission to use the NVIDIA device files",
    9: "the NVIDIA kernel driver is not loaded",
    12: "no library libnvidia-ml.so.1: no NVIDIA driver here",
    13: "the library libnvidia-ml.so.1 is too old",
    15: "a GPU fell off the bus",
    17: "the operating system refused",
    18: "NVML and the kernel driver are of different versions; restart the machine or load the driver again",
}


@contextmanager
def opened(nvml: NvmlLibrary, *, wsl2: bool) -> Iterator[Session | str]:
    """NVML for the time of the block, or the text of why there is none."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        number = getattr(error, "value", 0)
        hint = _INIT_HINTS.get(number, "NVML cannot be initialised")
        yield f"{hint} [nvmlInit: {type(error).__name__} ({number})]"
        return
    try:
        version = ask(Session(nvml, wsl2), None, [asked("nvmlSystemGetNVMLVersion")])
        yield Session(nvml, wsl2, str(version.value) if isinstance(version, Read) else "")
    finally:
        _shut_down(nvml)


def _shut_down(nvml: NvmlLibrary) -> None:
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        return  # nothing that was read depends on it


def read_nvml(nvml: NvmlLibrary, *, wsl2: bool) -> NvmlReport:
    """Everything about every device that NVML lists. Never raises NVML's errors."""
    with opened(nvml, wsl2=wsl2) as session:
        if isinstance(session, str):
            return NvmlReport(failure=session)
        found = list_devices(session)
        if isinstance(found, str):
            return NvmlReport(failure=found, system=_system(session))
        return NvmlReport(
            system=_system(session), devices=tuple(_all_fields(session, each) for each in found)
        )


def _system(session: Session) -> dict[str, Reading]:
    def ask_all(*names: str) -> Reading:
        return ask(session, None, [asked(name) for name in names])

    return {
        "driver_version": ask_all("nvmlSystemGetDriverVersion"),
        "nvml_version": ask_all("nvmlSystemGetNVMLVersion"),
        "cuda_driver_version": ask(
            session,
            None,
            [
                asked(name, take=lambda number: f"{number // 1000}.{number % 1000 // 10}")
                for name in ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")
            ],
        ),
    }


def list_devices(session: Session) -> list[Device] | str:
    """Every GPU, each followed by its MIG slices; or why they cannot be counted."""
    nvml = session.nvml
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        return f"the devices cannot be counted [nvmlDeviceGetCount: {type(error).__name__}]"
    return [each for index in range(count) for each in _with_slices(session, index)]


def _with_slices(session: Session, index: int) -> list[Device]:
    nvml = session.nvml
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        why = failure(error, f"nvmlDeviceGetHandleByIndex({index})", wsl2=session.wsl2)
        return [Device(index, None, refused=why)]
    return [Device(index, handle), *_slices(session, index, handle)]


def _slices(session: Session, index: int, handle: Handle) -> list[Device]:
    most = ask(session, handle, [device("nvmlDeviceGetMaxMigDeviceCount")])
    mode = ask(session, handle, STABLE["mig_enabled"])
    if not (isinstance(most, Read) and isinstance(mode, Read) and mode.value):
        return []
    found = []
    for number in range(int(str(most.value))):
        try:
            each = named(session.nvml, "nvmlDeviceGetMigDeviceHandleByIndex")(handle, number)
        except (session.nvml.NVMLError, LookupError):
            continue  # numbers without a slice are usual: the count is the most that there could be
        found.append(Device(index, each, whole=handle, slice_number=number))
    return found


def _all_fields(session: Session, found: Device) -> dict[str, Reading]:
    place: dict[str, Reading] = {"nvml_index": Read(value=found.index, call="nvmlDeviceGetHandleByIndex")}
    if found.slice_number is not None:
        place["mig_slice"] = Read(value=found.slice_number, call="nvmlDeviceGetMigDeviceHandleByIndex")
        place["mig_profile"] = ask(session, found.handle, [_PROFILE])
        place["sm_count"] = ask(session, found.handle, [_SLICE_SMS])
    return place | read_fields(session, found, STABLE | SAMPLED)


_PROFILE = device("nvmlDeviceGetName", take=lambda name: str(name).rpartition(" MIG ")[2])
_SLICE_SMS = device("nvmlDeviceGetAttributes_v2", take=lambda answer: int(answer.multiprocessorCount))


def read_fields(
    session: Session, found: Device, table: Table, own: Collection[int] = ()
) -> dict[str, Reading]:
    """Every field of ``table``; processes are counted without ``own``.

    A failing call costs its own field only.
    """
    readings: dict[str, Reading] = {}
    for name in table:
        readings[name] = found.refused or _field(session, found, name, table)
        if name == "event_reasons_mask":
            readings["event_reasons"] = _decoded(readings[name])
        if name in ("other_compute_processes", "other_graphics_processes"):
            readings[name] = _counted(readings[name], {str(pid) for pid in own})
    return readings


def _decoded(mask: Reading) -> Reading:
    return mask.model_copy(update={"value": decode(int(str(mask.value)))}) if isinstance(mask, Read) else mask


def _counted(pids: Reading, own: set[str]) -> Reading:
    if isinstance(pids, Read) and isinstance(pids.value, tuple):
        return pids.model_copy(update={"value": len(set(pids.value) - own)})
    return pids


def _field(session: Session, found: Device, name: str, table: Table) -> Reading:
    answer = ask(session, found.handle, table[name])
    if isinstance(answer, Read) or found.whole is None or name in _OF_A_SLICE:
        return answer
    whole = ask(session, found.whole, table[name])
    return whole.model_copy(update={"call": f"{whole.call} of the whole GPU"})
