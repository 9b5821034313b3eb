"""Fakes that speak nvidia-ml-py's interface and libcuda's, and machines made of them.

The answers are in the form that pynvml gives: its structures, its constants, its exceptions. A call is
checked against the signature of pynvml's own function.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pynvml
import pytest

NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND, UNKNOWN = 3, 4, 13, 999
UUID = "5fd4fb6c-8b6e-4a0b-9d2c-3a7e2f1b0c11"
SLICE_UUID = "c7a1bb5e-0f1d-5d77-8a52-0d6a1f0e9b02"
GIB = 1 << 30


@dataclass(frozen=True)
class Fail:
    """The NVML error that a call ends with."""

    code: int


class FakeNvml:
    """nvidia-ml-py with one driver behind it. A device is its answers by function and arguments."""

    def __init__(
        self,
        devices: list[dict[Any, Any]],
        *,
        version: str = "13.580.159.04",
        init: int = 0,
        driver_lacks: tuple[str, ...] = (),
        package_lacks: tuple[str, ...] = (),
        otherwise: int = NOT_SUPPORTED,
    ) -> None:
        self.devices, self.init, self.otherwise = devices, init, otherwise
        self.driver_lacks, self.package_lacks = driver_lacks, package_lacks
        self.opened = 0
        self.system: dict[Any, Any] = {
            "nvmlSystemGetDriverVersion": version.split(".", 1)[1],
            "nvmlSystemGetNVMLVersion": version,
            "nvmlSystemGetCudaDriverVersion_v2": 13000,
        }

    def __getattr__(self, name: str) -> Any:
        if name in self.package_lacks:
            raise AttributeError(name)
        real = getattr(pynvml, name)
        if not inspect.isfunction(real):
            return real

        def call(*arguments: Any) -> Any:
            inspect.signature(real).bind(*arguments)
            return self._answer(name, arguments)

        return call

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if name in self.driver_lacks:
            raise pynvml.NVMLError(FUNCTION_NOT_FOUND)
        if own := getattr(type(self), f"_{name}", None):
            return own(self, *arguments)
        answers = self.system if not arguments else arguments[0]
        key = (name, *arguments[1:]) if (name, *arguments[1:]) in answers else name
        return _given(answers.get(key, Fail(self.otherwise)))

    def _nvmlInit(self) -> None:  # noqa: N802
        if self.init:
            raise pynvml.NVMLError(self.init)
        self.opened += 1

    def _nvmlShutdown(self) -> None:  # noqa: N802
        self.opened -= 1

    def _nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.devices)

    def _nvmlDeviceGetHandleByIndex(self, index: int) -> Any:  # noqa: N802
        return _given(self.devices[index].get("handle", self.devices[index]))

    def _nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int) -> Any:  # noqa: N802
        return _given(handle["slices"].get(index, Fail(6)))

    def _nvmlDeviceGetFieldValues(self, handle: Any, ids: list[int]) -> Any:  # noqa: N802
        values = (pynvml.c_nvmlFieldValue_t * len(ids))()
        for value, each in zip(values, ids, strict=True):
            answer = handle.get("fields", {}).get(each, Fail(self.otherwise))
            value.fieldId, value.valueType = each, pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
            if isinstance(answer, Fail):
                value.nvmlReturn = answer.code
            else:
                value.value.ullVal = answer
        return values


def _given(answer: Any) -> Any:
    if isinstance(answer, Fail):
        raise pynvml.NVMLError(answer.code)
    return answer


class FakeDriver:
    """libcuda through ctypes. A device: ``uuid``, ``name``, ``bus``, ``memory``, and attributes by number."""

    def __init__(self, devices: list[dict[Any, Any]], *, init: int = 0, lacks: tuple[str, ...] = ()) -> None:
        self.devices, self.init, self.lacks = devices, init, lacks

    def __getattr__(self, name: str) -> Any:
        if name in self.lacks:
            raise AttributeError(name)
        return {
            "cuInit": lambda _flags: self.init,
            "cuDriverGetVersion": lambda out: _put(out, 13000),
            "cuDeviceGetCount": lambda out: _put(out, len(self.devices)),
            "cuDeviceGet": _put,
            "cuDeviceGetName": lambda out, _size, dev: _put(out, self.devices[dev.value]["name"].encode()),
            "cuDeviceGetUuid": lambda out, dev: _raw(out, self.devices[dev.value]["uuid"]),
            "cuDeviceGetUuid_v2": lambda out, dev: _raw(out, self.devices[dev.value]["uuid"]),
            "cuDeviceGetPCIBusId": lambda out, _size, dev: _put(out, self.devices[dev.value]["bus"].encode()),
            "cuDeviceTotalMem_v2": lambda out, dev: _put(out, self.devices[dev.value]["memory"]),
            "cuDeviceGetAttribute": self._attribute,
        }[name]

    def _attribute(self, out: Any, number: int, device: Any) -> int:
        answers = self.devices[device.value]
        return _put(out, answers[number]) if number in answers else 1


def _put(out: Any, value: Any) -> int:
    out._obj.value = value
    return 0


def _raw(out: Any, text: str) -> int:
    out._obj.raw = uuid.UUID(text).bytes
    return 0


@dataclass
class Machine:
    """What is behind the two libraries."""

    nvml: FakeNvml
    driver: FakeDriver = field(default_factory=lambda: FakeDriver([], init=100))


def gpu(**changes: Any) -> dict[Any, Any]:
    """An H200's answers, as they were read off one, with ``changes``."""
    return {
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetUUID": f"GPU-{UUID}",
        "nvmlDeviceGetPciInfo": pynvml.nvmlPciInfo_t(busId=b"00000000:0A:00.0"),
        "nvmlDeviceGetCurrPcieLinkGeneration": 5,
        "nvmlDeviceGetMaxPcieLinkGeneration": 5,
        "nvmlDeviceGetCurrPcieLinkWidth": 16,
        "nvmlDeviceGetMaxPcieLinkWidth": 16,
        "nvmlDeviceGetVbiosVersion": "96.00.CF.00.01",
        "nvmlDeviceGetCudaComputeCapability": (9, 0),
        "nvmlDeviceGetMemoryInfo": pynvml.c_nvmlMemory_t(total=141 * GIB, free=140 * GIB, used=GIB),
        "nvmlDeviceGetMemoryBusWidth": 6016,
        ("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM): 345,
        ("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_MEM): 3201,
        ("nvmlDeviceGetMaxClockInfo", pynvml.NVML_CLOCK_SM): 1980,
        ("nvmlDeviceGetMaxClockInfo", pynvml.NVML_CLOCK_MEM): 3201,
        "nvmlDeviceGetSupportedMemoryClocks": [3201, 2619],
        ("nvmlDeviceGetSupportedGraphicsClocks", 3201): [1980, 1965, 345],
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
        "nvmlDeviceGetPowerUsage": 76_543,
        ("nvmlDeviceGetTemperatureV", pynvml.NVML_TEMPERATURE_GPU): 31,
        "nvmlDeviceGetPerformanceState": 0,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x1,
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetTotalEccErrors": 0,
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetMaxMigDeviceCount": 7,
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetComputeMode": 0,
        "nvmlDeviceGetVirtualizationMode": 1,
        "nvmlDeviceGetComputeRunningProcesses_v3": [],
        "nvmlDeviceGetGraphicsRunningProcesses_v3": [],
        "fields": {74: 11, 75: 12, 76: 0, 77: 0, 79: 0, 269: 21, 270: 22, 271: 23},
        **changes,
    }


def cuda(**changes: Any) -> dict[Any, Any]:
    """The same H200 as libcuda shows it."""
    return {
        "uuid": UUID,
        "name": "NVIDIA H200",
        "bus": "0000:0A:00.0",
        "memory": 141 * GIB,
        **{38: 62_914_560, 108: 39_321_600, 16: 132, 37: 6016, 13: 1_980_000, 36: 3_201_000},
        **{81: 233_472, 18: 0, 75: 9, 76: 0},
        **changes,
    }


def _h200() -> Machine:
    return Machine(FakeNvml([gpu()]), FakeDriver([cuda()]))


def _rtx_3050_laptop() -> Machine:
    """A laptop: no limit that could be set, no ECC, throttled by power and by a bit that is not known."""
    board = gpu(
        nvmlDeviceGetName="NVIDIA GeForce RTX 3050 Laptop GPU",
        nvmlDeviceGetCudaComputeCapability=(8, 6),
        nvmlDeviceGetCurrentClocksEventReasons=0x4 | 0x200 | 0x400 | 0x8000,
        nvmlDeviceGetEnforcedPowerLimit=Fail(NOT_SUPPORTED),
        nvmlDeviceGetPowerManagementDefaultLimit=Fail(NOT_SUPPORTED),
        nvmlDeviceGetEccMode=Fail(NOT_SUPPORTED),
        nvmlDeviceGetMigMode=Fail(NOT_SUPPORTED),
        nvmlDeviceGetMaxMigDeviceCount=Fail(NOT_SUPPORTED),
        nvmlDeviceGetPerformanceState=pynvml.NVML_PSTATE_UNKNOWN,
    )
    return Machine(FakeNvml([board]), FakeDriver([cuda() | {38: 1_572_864, 108: 0, 16: 16}]))


def _wsl2() -> Machine:
    """WSL2 answers UNKNOWN for what it does not support, and lists no processes."""
    answers = gpu(fields={})
    for name in list(answers):
        text = str(name)
        if any(part in text for part in ("Processes", "Persistence", "SupportedG", "SupportedM", "Vbios")):
            answers[name] = Fail(UNKNOWN)
    return Machine(FakeNvml([answers], otherwise=UNKNOWN), FakeDriver([cuda()]))


def _jetson() -> Machine:
    """NVML on a Jetson knows a name and little else; its UUID is not that of the driver's device."""
    return Machine(
        FakeNvml([{"nvmlDeviceGetName": "Orin (nvgpu)", "nvmlDeviceGetCudaComputeCapability": (8, 7)}]),
        FakeDriver([cuda(name="Orin") | {38: 4_194_304, 18: 1, 16: 16, 76: 7, 75: 8}]),
    )


def _mig() -> Machine:
    """An H200 in seven slices, of which the second is there and is what CUDA shows."""
    attributes = pynvml.c_nvmlDeviceAttributes(multiprocessorCount=16)
    part = {
        "nvmlDeviceGetName": "NVIDIA H200 MIG 1g.18gb",
        "nvmlDeviceGetUUID": f"MIG-{SLICE_UUID}",
        "nvmlDeviceGetMemoryInfo": pynvml.c_nvmlMemory_t(total=16 * GIB, free=16 * GIB, used=0),
        "nvmlDeviceGetAttributes_v2": attributes,
        "nvmlDeviceGetComputeRunningProcesses_v3": Fail(NO_PERMISSION),
    }
    return Machine(
        FakeNvml([gpu(nvmlDeviceGetMigMode=[1, 1], slices={1: part})], otherwise=2),
        FakeDriver([cuda(uuid=SLICE_UUID) | {16: 16, 38: 7_864_320}]),
    )


def _vgpu() -> Machine:
    board = gpu(
        nvmlDeviceGetName="GRID A100-10C",
        nvmlDeviceGetVirtualizationMode=pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU,
        nvmlDeviceGetEccMode=Fail(pynvml.NVML_ERROR_VGPU_ECC_NOT_SUPPORTED),
        nvmlDeviceGetPowerUsage=Fail(NOT_SUPPORTED),
        nvmlDeviceGetTemperatureV=Fail(NOT_SUPPORTED),
    )
    board.pop(("nvmlDeviceGetTemperatureV", 0))
    return Machine(FakeNvml([board]), FakeDriver([cuda()]))


def _gb10() -> Machine:
    """Memory is the machine's: NVML has no size for it, the driver has; no PCIe link, no limits."""
    board = gpu(
        nvmlDeviceGetName="NVIDIA GB10",
        nvmlDeviceGetCudaComputeCapability=(12, 1),
        nvmlDeviceGetMemoryInfo=Fail(NOT_SUPPORTED),
        nvmlDeviceGetMemoryBusWidth=0,
        nvmlDeviceGetEnforcedPowerLimit=0,
        nvmlDeviceGetSupportedMemoryClocks=[],
    )
    return Machine(FakeNvml([board]), FakeDriver([cuda(memory=119 * GIB) | {18: 1, 37: 0}]))


def _old_driver() -> Machine:
    """Driver 470: the old names only, and field numbers of which it means others than today's."""
    board = gpu(
        nvmlDeviceGetCurrentClocksThrottleReasons=0x80,
        nvmlDeviceGetTemperature=44,
        nvmlDeviceGetViolationStatus=pynvml.c_nvmlViolationTime_t(referenceTime=1, violationTime=77),
        nvmlDeviceGetComputeRunningProcesses_v2=[pynvml.nvmlFriendlyObject({"pid": 7})],
        fields={269: 999},
    )
    lacks = (
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetMemoryBusWidth",
    )
    driver = FakeDriver([cuda() | {37: 5120}], lacks=("cuDeviceGetUuid_v2",))
    return Machine(FakeNvml([board], version="11.470.256.02", driver_lacks=lacks), driver)


def _no_permission() -> Machine:
    """One GPU is another container's, and the other refuses what only root may see."""
    mine = gpu(nvmlDeviceGetComputeRunningProcesses_v3=Fail(NO_PERMISSION), nvmlDeviceGetMigMode=Fail(4))
    return Machine(FakeNvml([{"handle": Fail(NO_PERMISSION)}, mine]), FakeDriver([cuda()]))


def _no_driver() -> Machine:
    return Machine(FakeNvml([], init=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND))


def _mismatch() -> Machine:
    return Machine(FakeNvml([], init=pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH), FakeDriver([], init=803))


def _cuda_only() -> Machine:
    return Machine(FakeNvml([], init=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND), FakeDriver([cuda()]))


MACHINES = {
    "h200": _h200,
    "rtx_3050_laptop": _rtx_3050_laptop,
    "wsl2": _wsl2,
    "jetson": _jetson,
    "mig": _mig,
    "vgpu": _vgpu,
    "gb10": _gb10,
    "old_driver": _old_driver,
    "no_permission": _no_permission,
    "no_driver": _no_driver,
    "mismatch": _mismatch,
    "cuda_only": _cuda_only,
}


@pytest.fixture
def machine() -> Callable[[str], Machine]:
    """A machine by its name in MACHINES."""
    return lambda name: MACHINES[name]()


@pytest.fixture
def build() -> Any:
    """The parts, for a machine that one test needs."""

    class Parts:
        nvml, driver, gpu, cuda, fail = FakeNvml, FakeDriver, staticmethod(gpu), staticmethod(cuda), Fail

    return Parts
