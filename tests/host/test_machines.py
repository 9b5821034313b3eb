"""One table of machines and fields: what was read, and why the rest was not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundler.host import probe_host
from bundler.model.host import Gpu, Host, Read

GIB = 1 << 30
NEW = "nvmlDeviceGetCurrentClocksEventReasons"
OLD = "nvmlDeviceGetCurrentClocksThrottleReasons"

READ: list[tuple[str, int, str, Any, str]] = [
    # machine, place of the GPU, field, value, what the call begins with
    ("h200", 0, "name", "NVIDIA H200", "nvmlDeviceGetName"),
    ("h200", 0, "l2_bytes", 62_914_560, "cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)"),
    ("h200", 0, "sm_count", 132, "cuDeviceGetAttribute"),
    ("h200", 0, "compute_capability", "9.0", "nvml"),
    ("h200", 0, "pci_bus_id", "0000:0a:00.0", "nvml"),
    ("h200", 0, "power_draw_w", 76.543, "nvmlDeviceGetPowerUsage"),
    ("h200", 0, "sm_clock_mhz", 345, "nvmlDeviceGetClockInfo(NVML_CLOCK_SM)"),
    ("h200", 0, "sm_clocks_supported", 3, "nvmlDeviceGetSupportedGraphicsClocks"),
    ("h200", 0, "sm_clock_supported_max_mhz", 1980, "nvml"),
    ("h200", 0, "event_reasons", ("gpu_idle",), NEW),
    ("h200", 0, "pstate", "P0", "nvmlDeviceGetPerformanceState"),
    ("h200", 0, "mig_enabled", False, "nvml"),
    ("h200", 0, "virtualization_mode", "passthrough", "nvml"),
    ("h200", 0, "other_compute_processes", 0, "nvmlDeviceGetComputeRunningProcesses_v3"),
    ("h200", 0, "violation_power_ns", 11, "nvmlDeviceGetFieldValues(NVML_FI_DEV_PERF_POLICY_POWER)"),
    ("h200", 0, "violation_hw_power_brake_ns", 23, "nvmlDeviceGetFieldValues"),
    ("h200", 0, "memory_used_bytes", GIB, "nvmlDeviceGetMemoryInfo(nvmlMemory_v2)"),
    ("h200", 0, "cuda_ordinal", 0, "cuDeviceGet"),
    ("rtx_3050_laptop", 0, "l2_bytes", 1_572_864, "cuDeviceGetAttribute"),
    ("rtx_3050_laptop", 0, "l2_persisting_max_bytes", 0, "cuDeviceGetAttribute"),
    ("rtx_3050_laptop", 0, "event_reasons_mask", 0x8604, NEW),
    (
        "rtx_3050_laptop",
        0,
        "event_reasons",
        ("sw_power_cap", "board_limit", "reliability", "unknown bit 0x8000"),
        NEW,
    ),
    ("wsl2", 0, "l2_bytes", 62_914_560, "cuDeviceGetAttribute"),
    ("wsl2", 0, "sm_clock_mhz", 345, "nvml"),
    ("jetson", 0, "name", "Orin (nvgpu)", "nvml"),
    ("jetson", 1, "l2_bytes", 4_194_304, "cuDeviceGetAttribute"),
    ("jetson", 1, "integrated", True, "cuDeviceGetAttribute"),
    ("mig", 0, "mig_enabled", True, "nvml"),
    ("mig", 1, "mig_profile", "1g.18gb", "nvmlDeviceGetName"),
    ("mig", 1, "sm_count", 16, "nvmlDeviceGetAttributes_v2"),
    ("mig", 1, "memory_total_bytes", 16 * GIB, "nvmlDeviceGetMemoryInfo"),
    ("mig", 1, "sm_clock_mhz", 345, "nvmlDeviceGetClockInfo(NVML_CLOCK_SM) of the whole GPU"),
    ("mig", 1, "l2_bytes", 7_864_320, "cuDeviceGetAttribute"),
    ("vgpu", 0, "virtualization_mode", "vgpu", "nvml"),
    ("gb10", 0, "memory_total_bytes", 119 * GIB, "cuDeviceTotalMem_v2"),
    ("gb10", 0, "compute_capability", "12.1", "nvml"),
    ("old_driver", 0, "event_reasons", ("hw_power_brake_slowdown",), OLD),
    ("old_driver", 0, "temperature_c", 44, "nvmlDeviceGetTemperature(NVML_TEMPERATURE_GPU)"),
    ("old_driver", 0, "violation_power_ns", 77, "nvmlDeviceGetViolationStatus(NVML_PERF_POLICY_POWER)"),
    ("old_driver", 0, "other_compute_processes", 1, "nvmlDeviceGetComputeRunningProcesses_v2"),
    ("old_driver", 0, "memory_bus_width_bits", 5120, "cuDeviceGetAttribute"),
    ("old_driver", 0, "cuda_ordinal", 0, "cuDeviceGet"),
    ("no_permission", 1, "l2_bytes", 62_914_560, "cuDeviceGetAttribute"),
    ("cuda_only", 0, "name", "NVIDIA H200", "cuDeviceGetName"),
]

UNREAD: list[tuple[str, int, str, str, str]] = [
    # machine, place of the GPU, field, status, a part of the code
    ("rtx_3050_laptop", 0, "power_limit_enforced_w", "not_supported", "NVMLError_NotSupported (3)"),
    ("rtx_3050_laptop", 0, "ecc_enabled", "not_supported", "(3)"),
    ("rtx_3050_laptop", 0, "mig_enabled", "not_supported", "(3)"),
    ("rtx_3050_laptop", 0, "pstate", "not_available", "32"),
    ("wsl2", 0, "other_compute_processes", "not_supported", "(999)"),
    ("wsl2", 0, "violation_power_ns", "not_supported", "(999)"),
    ("wsl2", 0, "vbios", "not_supported", "(999)"),
    ("jetson", 0, "memory_total_bytes", "not_supported", "(3)"),
    ("jetson", 0, "event_reasons", "not_supported", "(3)"),
    ("jetson", 0, "l2_bytes", "not_available", "does not show"),
    ("jetson", 1, "nvml_index", "not_available", "does not list"),
    ("mig", 0, "l2_bytes", "not_available", "does not show"),
    ("mig", 0, "cuda_ordinal", "not_available", "does not show"),
    ("mig", 1, "other_compute_processes", "no_permission", "(4)"),
    ("vgpu", 0, "ecc_enabled", "not_supported", "(22)"),
    ("vgpu", 0, "temperature_c", "not_supported", "(3)"),
    ("gb10", 0, "memory_bus_width_bits", "not_available", "0"),
    ("gb10", 0, "power_limit_enforced_w", "not_available", "0 mW"),
    ("gb10", 0, "sm_clocks_supported", "not_available", "no memory clock"),
    ("old_driver", 0, "violation_sw_thermal_ns", "not_available", "another field"),
    ("no_permission", 0, "name", "no_permission", "(4)"),
    ("no_permission", 1, "other_compute_processes", "no_permission", "(4)"),
    ("no_permission", 1, "mig_enabled", "no_permission", "(4)"),
    ("cuda_only", 0, "nvml_index", "not_available", "libnvidia-ml.so.1"),
]


def _probe(machine: Callable[[str], Any], name: str, root: Path) -> Host:
    found = machine(name)
    if name == "wsl2":
        (root / "dev").mkdir(exist_ok=True)
        (root / "dev/dxg").touch()
    host = probe_host(found.nvml, found.driver, root=root)
    assert found.nvml.opened == 0
    return host


@pytest.mark.parametrize("row", READ, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_a_field_that_can_be_read_has_this_value_from_this_call(
    machine: Any, tmp_path: Path, row: tuple[str, int, str, object, str]
) -> None:
    name, place, field, value, call = row
    reading = _probe(machine, name, tmp_path).gpus[place].fields[field]
    assert isinstance(reading, Read), reading
    assert (reading.value, type(reading.value)) == (value, type(value))
    assert reading.call.startswith(call)


@pytest.mark.parametrize("row", UNREAD, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_a_field_that_cannot_be_read_says_why(
    machine: Any, tmp_path: Path, row: tuple[str, int, str, str, str]
) -> None:
    name, place, field, status, code = row
    reading = _probe(machine, name, tmp_path).gpus[place].fields[field]
    assert not isinstance(reading, Read), reading
    assert reading.status == status
    assert code in reading.code
    assert reading.call


@pytest.mark.parametrize(
    ("name", "count"),
    [("h200", 1), ("jetson", 2), ("mig", 2), ("no_permission", 2), ("no_driver", 0), ("cuda_only", 1)],
)
def test_every_device_is_listed_once(machine: Any, tmp_path: Path, name: str, count: int) -> None:
    gpus = _probe(machine, name, tmp_path).gpus
    assert [gpu.index for gpu in gpus] == list(range(count))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("no_driver", ["no NVIDIA driver here", "NVMLError_LibraryNotFound (12)", "NO_DEVICE (100)"]),
        ("mismatch", ["different versions", "(18)", "SYSTEM_DRIVER_MISMATCH (803)"]),
    ],
)
def test_no_gpu_says_why(machine: Any, tmp_path: Path, name: str, parts: list[str]) -> None:
    host = _probe(machine, name, tmp_path)
    assert host.gpus == ()
    assert all(part in host.no_gpu for part in parts), host.no_gpu
    assert "container" not in host.no_gpu


def test_in_a_container_it_says_that_none_may_have_been_given(machine: Any, tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    said = _probe(machine, "no_driver", tmp_path).no_gpu
    assert said.endswith("; this container may have been given none (docker run --gpus all)")
    (tmp_path / ".dockerenv").unlink()
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/cgroup").write_text("0::/init.scope\n")
    assert "container" not in _probe(machine, "no_driver", tmp_path).no_gpu


def test_999_is_an_error_where_it_is_not_wsl2(machine: Any, tmp_path: Path) -> None:
    found = machine("wsl2")
    fields = probe_host(found.nvml, found.driver, root=tmp_path).gpus[0].fields
    assert fields["other_compute_processes"].status == "error"


@pytest.mark.parametrize("name", ["h200", "mig", "no_driver", "old_driver"])
def test_evidence_keeps_every_reading_as_it_was(machine: Any, tmp_path: Path, name: str) -> None:
    host = _probe(machine, name, tmp_path)
    assert Host.model_validate_json(host.model_dump_json()) == host


def test_what_cuda_shows_is_found_by_its_ordinal(machine: Any, tmp_path: Path) -> None:
    host = _probe(machine, "mig", tmp_path)
    found = host.cuda_device(0)
    assert isinstance(found, Gpu)
    assert found.index == 1
    assert host.cuda_device(1) is None


def test_no_uuid_is_published(machine: Any, tmp_path: Path) -> None:
    text = _probe(machine, "mig", tmp_path).model_dump_json()
    assert "5fd4fb6c" not in text
    assert "c7a1bb5e" not in text
