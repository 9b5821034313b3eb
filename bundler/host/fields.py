"""What is asked of NVML about a device, in the order in which it is shown."""

from __future__ import annotations

from typing import Any

from bundler.host.identity import bus_id, hashed
from bundler.host.nvml import Call, Handle, NotAvailable, Session, device, named
from bundler.model.host import Value

Table = dict[str, tuple[Call, ...]]
"""A field's name and the ways to ask for it, the newest first."""


def field_value(constant: str, since: tuple[int, int] = (0, 0)) -> Call:
    """One value of ``nvmlDeviceGetFieldValues``, asked for alone: it can fail without taking others along.

    ``since``: the branch and release of NVML from which the constant's number means this field.
    """

    def run(session: Session, handle: Handle) -> Value:
        _check_release(session.version, since)
        answer = named(session.nvml, "nvmlDeviceGetFieldValues")(handle, [named(session.nvml, constant)])[0]
        if answer.nvmlReturn != 0:
            raise session.nvml.NVMLError(answer.nvmlReturn)
        return _typed(answer)

    return Call(f"nvmlDeviceGetFieldValues({constant})", run)


def _check_release(version: str, since: tuple[int, int]) -> None:
    if since == (0, 0):
        return
    parts = version.split(".")
    if len(parts) < 3 or not all(part.isdecimal() for part in parts[1:3]):
        raise NotAvailable(f"NVML's version reads {version!r}, so the field's number is not certain")
    if (int(parts[1]), int(parts[2])) < since:
        raise NotAvailable(f"NVML {version} may mean another field by this number")


_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""By ``nvmlValueType_t``: the member of the union that holds the value."""


def _typed(answer: Any) -> Value:
    if not 0 <= answer.valueType < len(_MEMBERS):
        raise NotAvailable(f"NVML gave a value of the unknown type {answer.valueType}")
    value: Value = getattr(answer.value, _MEMBERS[answer.valueType])
    if value == 2**64 - 1:
        raise NotAvailable("NVML gave its mark for no value")
    return value


def _above_zero(value: Any) -> Value:
    """A size, limit or clock of 0 is how some drivers say that they do not know."""
    if value == 0:
        raise NotAvailable("NVML gave 0")
    return int(value)


def _watts(milliwatts: Any) -> Value:
    if milliwatts in (0, 2**32 - 1):
        raise NotAvailable(f"NVML gave {milliwatts} mW")
    return float(milliwatts / 1000)


def _pstate(number: Any) -> Value:
    if not 0 <= number <= 15:
        raise NotAvailable(f"NVML gave {number}, its mark for an unknown performance state")
    return f"P{number}"


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _one_of(*names: str) -> Any:
    return lambda number: names[number] if 0 <= number < len(names) else f"unknown mode {number}"


def _violation(policy: str) -> Call:
    return device(
        "nvmlDeviceGetViolationStatus",
        f"NVML_PERF_POLICY_{policy}",
        take=lambda answer: int(answer.violationTime),
    )


def _counter(field: str, policy: str) -> tuple[Call, ...]:
    return field_value(f"NVML_FI_DEV_PERF_POLICY_{field}"), _violation(policy)


def _event_counter(name: str) -> tuple[Call, ...]:
    # These numbers moved. nvidia-ml-py 12.575.51 and 13.580.65 have 251 to 253, since 13.580.82 it
    # is 269 to 271, and in between each of the two ranges also meant power smoothing.
    return (field_value(f"NVML_FI_DEV_CLOCKS_EVENT_REASON_{name}", since=(580, 82)),)


def _clock(kind: str) -> tuple[Call, ...]:
    return (device("nvmlDeviceGetClockInfo", f"NVML_CLOCK_{kind}", take=_above_zero),)


def _max_clock(kind: str) -> tuple[Call, ...]:
    return (device("nvmlDeviceGetMaxClockInfo", f"NVML_CLOCK_{kind}", take=_above_zero),)


def _supported_sm_clocks(session: Session, handle: Handle) -> list[int]:
    """The SM clocks that go with the highest memory clock, MHz."""
    memory = named(session.nvml, "nvmlDeviceGetSupportedMemoryClocks")(handle)
    if not memory:
        raise NotAvailable("NVML lists no memory clock")
    clocks: list[int] = named(session.nvml, "nvmlDeviceGetSupportedGraphicsClocks")(handle, max(memory))
    if not clocks:
        raise NotAvailable("NVML lists no clock")
    return clocks


def _processes(kind: str) -> tuple[Call, ...]:
    """The ids of all of them, as texts, the reader's own too: ``devices.read_fields`` makes of them how many
    are others, which is the field that evidence has under this name."""
    names = [f"nvmlDeviceGet{kind}RunningProcesses{version}" for version in ("_v3", "_v2", "")]
    return tuple(device(name, take=lambda found: tuple(str(each.pid) for each in found)) for name in names)


SAMPLED: Table = {
    "sm_clock_mhz": _clock("SM"),
    "memory_clock_mhz": _clock("MEM"),
    "event_reasons_mask": (
        device("nvmlDeviceGetCurrentClocksEventReasons"),
        device("nvmlDeviceGetCurrentClocksThrottleReasons"),
    ),
    "power_draw_w": (device("nvmlDeviceGetPowerUsage", take=_watts),),
    "temperature_c": (
        device("nvmlDeviceGetTemperatureV", "NVML_TEMPERATURE_GPU"),
        device("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"),
    ),
    "pstate": (
        device("nvmlDeviceGetPerformanceState", take=_pstate),
        device("nvmlDeviceGetPowerState", take=_pstate),
    ),
    "violation_power_ns": _counter("POWER", "POWER"),
    "violation_thermal_ns": _counter("THERMAL", "THERMAL"),
    "violation_sync_boost_ns": _counter("SYNC_BOOST", "SYNC_BOOST"),
    "violation_board_limit_ns": _counter("BOARD_LIMIT", "BOARD_LIMIT"),
    "violation_reliability_ns": _counter("RELIABILITY", "RELIABILITY"),
    "violation_sw_thermal_ns": _event_counter("SW_THERM_SLOWDOWN"),
    "violation_hw_thermal_ns": _event_counter("HW_THERM_SLOWDOWN"),
    "violation_hw_power_brake_ns": _event_counter("HW_POWER_BRAKE_SLOWDOWN"),
    "memory_used_bytes": (
        # Version 2 leaves out what the driver keeps for itself; the old one counts it in.
        device("nvmlDeviceGetMemoryInfo", "nvmlMemory_v2", take=lambda info: int(info.used)),
        device("nvmlDeviceGetMemoryInfo", take=lambda info: int(info.used)),
    ),
    "utilization_percent": (device("nvmlDeviceGetUtilizationRates", take=lambda rates: int(rates.gpu)),),
    "other_compute_processes": _processes("Compute"),
    "other_graphics_processes": _processes("Graphics"),
}
"""What changes while a timing runs. The power draw is NVML's average over a second.

In a PID namespace of its own (a container's, as a rule) NVML lists the processes of that namespace only:
none there is not none on the device. Memory in use and utilisation show the others.
"""

STABLE: Table = {
    "name": (device("nvmlDeviceGetName"),),
    "uuid_sha256": (device("nvmlDeviceGetUUID", take=lambda text: hashed(_text(text))),),
    "pci_bus_id": (device("nvmlDeviceGetPciInfo", take=lambda info: bus_id(_text(info.busId))),),
    "pcie_gen_current": (device("nvmlDeviceGetCurrPcieLinkGeneration", take=_above_zero),),
    "pcie_gen_max": (device("nvmlDeviceGetMaxPcieLinkGeneration", take=_above_zero),),
    "pcie_width_current": (device("nvmlDeviceGetCurrPcieLinkWidth", take=_above_zero),),
    "pcie_width_max": (device("nvmlDeviceGetMaxPcieLinkWidth", take=_above_zero),),
    "vbios": (device("nvmlDeviceGetVbiosVersion"),),
    "compute_capability": (
        device("nvmlDeviceGetCudaComputeCapability", take=lambda pair: f"{pair[0]}.{pair[1]}"),
    ),
    "memory_total_bytes": (device("nvmlDeviceGetMemoryInfo", take=lambda info: _above_zero(info.total)),),
    "memory_free_bytes": (device("nvmlDeviceGetMemoryInfo", take=lambda info: int(info.free)),),
    "memory_bus_width_bits": (device("nvmlDeviceGetMemoryBusWidth", take=_above_zero),),
    "sm_clock_max_mhz": _max_clock("SM"),
    "sm_clocks_supported": (
        Call("nvmlDeviceGetSupportedGraphicsClocks", lambda s, handle: len(_supported_sm_clocks(s, handle))),
    ),
    "sm_clock_supported_max_mhz": (
        Call("nvmlDeviceGetSupportedGraphicsClocks", lambda s, handle: max(_supported_sm_clocks(s, handle))),
    ),
    "memory_clock_max_mhz": _max_clock("MEM"),
    "memory_clocks_supported": (
        device("nvmlDeviceGetSupportedMemoryClocks", take=lambda clocks: _above_zero(len(clocks))),
    ),
    "power_limit_enforced_w": (device("nvmlDeviceGetEnforcedPowerLimit", take=_watts),),
    "power_limit_default_w": (device("nvmlDeviceGetPowerManagementDefaultLimit", take=_watts),),
    "ecc_enabled": (device("nvmlDeviceGetEccMode", take=lambda pair: bool(pair[0])),),
    "ecc_uncorrected": (
        device(
            "nvmlDeviceGetTotalEccErrors", "NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_VOLATILE_ECC", take=int
        ),
    ),
    "mig_enabled": (device("nvmlDeviceGetMigMode", take=lambda pair: bool(pair[0])),),
    "persistence_mode": (device("nvmlDeviceGetPersistenceMode", take=bool),),
    "compute_mode": (
        device(
            "nvmlDeviceGetComputeMode",
            take=_one_of("default", "exclusive_thread", "prohibited", "exclusive_process"),
        ),
    ),
    "virtualization_mode": (
        device(
            "nvmlDeviceGetVirtualizationMode",
            take=_one_of("none", "passthrough", "vgpu", "host_vgpu", "host_vsga"),
        ),
    ),
}
"""What is read once."""
