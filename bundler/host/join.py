"""One Host out of what NVML and the CUDA driver said. Pure."""

from __future__ import annotations

from bundler.host.devices import NvmlReport
from bundler.host.driver import ATTRIBUTES, DriverReport
from bundler.model.host import Gpu, Host, Read, Reading, Unread

Fields = dict[str, Reading]


def join(system: Fields, software: dict[str, str], nvml: NvmlReport, driver: DriverReport) -> Host:
    """NVML's devices in NVML's order, each with the driver's fields, then what only the driver shows.

    Devices are recognised by UUID, by PCI bus id where a UUID could not be read, never by their order.
    """
    left = list(driver.devices)
    gpus = [_with_driver(fields, left, driver) for fields in nvml.devices]
    gpus += [_without_nvml(fields, nvml) for fields in left]
    return Host(
        system=system | nvml.system | {"cuda_version": driver.version},
        software=software,
        gpus=tuple(Gpu(index=place, fields=fields) for place, fields in enumerate(gpus)),
        no_gpu="" if gpus else _why_none(nvml, driver) + _in_container(system.get("container")),
    )


def _with_driver(fields: Fields, left: list[Fields], driver: DriverReport) -> Fields:
    same = next((each for each in left if _same(fields, each)), None)
    if same is None:
        return fields | {
            name: _unseen(driver) for name in (*ATTRIBUTES, "cuda_ordinal") if _lacks(fields, name)
        }
    left.remove(same)
    return fields | {name: reading for name, reading in same.items() if _better(fields.get(name), reading)}


def _same(ours: Fields, theirs: Fields) -> bool:
    for name in ("uuid_sha256", "pci_bus_id"):
        mine, other = ours.get(name), theirs.get(name)
        if isinstance(mine, Read) and isinstance(other, Read):
            return mine.value == other.value
    return False


def _lacks(fields: Fields, name: str) -> bool:
    return name not in fields


def _better(mine: Reading | None, other: Reading) -> bool:
    """The driver's word counts where NVML has none."""
    return mine is None or (not isinstance(mine, Read) and isinstance(other, Read))


def _unseen(driver: DriverReport) -> Unread:
    why = driver.failure or "the driver does not show this device: CUDA_VISIBLE_DEVICES, MIG"
    return Unread(status="not_available", code=why, call="cuDeviceGetCount")


def _without_nvml(fields: Fields, nvml: NvmlReport) -> Fields:
    why = nvml.failure or "NVML does not list this device"
    return {"nvml_index": Unread(status="not_available", code=why, call="nvmlDeviceGetCount"), **fields}


def _why_none(nvml: NvmlReport, driver: DriverReport) -> str:
    reasons = [
        f"NVML: {nvml.failure or 'lists no device'}",
        f"CUDA driver: {driver.failure or 'shows no device'}",
    ]
    return "; ".join(reasons)


def _in_container(said: Reading | None) -> str:
    seen = isinstance(said, Read) and said.value != "none seen"
    return "; this container may have been given none (docker run --gpus all)" if seen else ""
