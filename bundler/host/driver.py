"""What only the CUDA driver tells (L2 and SM count), through libcuda and without a context."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol

from bundler.host.identity import bus_id, hashed_bytes
from bundler.model.base import Frozen
from bundler.model.host import Read, Reading, Unread, Value


class DriverLibrary(Protocol):
    """``libcuda.so.1`` as ctypes gives it. Functions that only some drivers have are looked up by name."""

    def cuInit(self, flags: int) -> int: ...  # noqa: N802
    def cuDeviceGetCount(self, count: Any) -> int: ...  # noqa: N802
    def cuDeviceGet(self, device: Any, ordinal: int) -> int: ...  # noqa: N802
    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int: ...  # noqa: N802


class DriverReport(Frozen):
    """What the CUDA driver said. Devices are in CUDA's order, under CUDA_VISIBLE_DEVICES."""

    failure: str = ""
    version: Reading
    devices: tuple[dict[str, Reading], ...] = ()


ATTRIBUTES = {
    "l2_bytes": ("CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE", 38),
    "l2_persisting_max_bytes": ("CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE", 108),
    "sm_count": ("CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", 16),
    "memory_bus_width_bits": ("CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH", 37),
    "sm_clock_max_mhz": ("CU_DEVICE_ATTRIBUTE_CLOCK_RATE", 13),
    "memory_clock_max_mhz": ("CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE", 36),
    "shared_memory_sm_bytes": ("CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", 81),
    "integrated": ("CU_DEVICE_ATTRIBUTE_INTEGRATED", 18),
}
_MAY_BE_ZERO = frozenset({"l2_persisting_max_bytes"})
_NAMES = {
    1: "CUDA_ERROR_INVALID_VALUE",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    800: "CUDA_ERROR_NOT_PERMITTED",
    801: "CUDA_ERROR_NOT_SUPPORTED",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "CUDA_ERROR_UNKNOWN",
}


def real_driver() -> DriverLibrary | str:
    """libcuda, or why it cannot be loaded."""
    try:
        library: Any = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        missing = "No such file" in str(error)
        return "no library libcuda.so.1" if missing else f"libcuda.so.1 cannot be loaded: {error}"
    driver: DriverLibrary = library
    return driver


def read_driver(driver: DriverLibrary) -> DriverReport:
    """Initialise the driver and ask every device that it shows. Makes no context."""
    version = _version(driver)
    count = ctypes.c_int()
    if error := driver.cuInit(0):
        return DriverReport(failure=f"cuInit: {_name(error)}", version=version)
    if error := driver.cuDeviceGetCount(ctypes.byref(count)):
        return DriverReport(failure=f"cuDeviceGetCount: {_name(error)}", version=version)
    return DriverReport(version=version, devices=tuple(_device(driver, i) for i in range(count.value)))


def _version(driver: DriverLibrary) -> Reading:
    number = ctypes.c_int()
    return _ask(
        driver,
        "cuDriverGetVersion",
        number,
        (),
        lambda: f"{number.value // 1000}.{number.value % 1000 // 10}",
    )


def _device(driver: DriverLibrary, ordinal: int) -> dict[str, Reading]:
    place: dict[str, Reading] = {"cuda_ordinal": Read(value=ordinal, call="cuDeviceGet")}
    handle = ctypes.c_int()
    if error := driver.cuDeviceGet(ctypes.byref(handle), ordinal):
        why = Unread(status="error", code=_name(error), call="cuDeviceGet")
        return place | dict.fromkeys(ATTRIBUTES, why)
    readings = {name: _attribute(driver, handle, name) for name in ATTRIBUTES}
    return place | _identity(driver, handle) | readings


def _identity(driver: DriverLibrary, handle: ctypes.c_int) -> dict[str, Reading]:
    sixteen, name, bus = (ctypes.create_string_buffer(size) for size in (16, 256, 64))
    memory = ctypes.c_size_t()

    def of_uuid(function: str) -> Reading:
        return _ask(driver, function, sixteen, (handle,), lambda: hashed_bytes(sixteen.raw))

    newest = of_uuid("cuDeviceGetUuid_v2")
    return {
        "name": _ask(driver, "cuDeviceGetName", name, (256, handle), lambda: str(name.value, "utf-8")),
        "uuid_sha256": newest if isinstance(newest, Read) else of_uuid("cuDeviceGetUuid"),
        "pci_bus_id": _ask(
            driver, "cuDeviceGetPCIBusId", bus, (64, handle), lambda: bus_id(bus.value.decode())
        ),
        "memory_total_bytes": _ask(driver, "cuDeviceTotalMem_v2", memory, (handle,), lambda: memory.value),
        "compute_capability": _capability(driver, handle),
    }


def _capability(driver: DriverLibrary, handle: ctypes.c_int) -> Reading:
    text = "cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, …MINOR)"
    major = _number(driver, handle, 75, text)
    minor = _number(driver, handle, 76, text)
    if isinstance(major, Read) and isinstance(minor, Read):
        return Read(value=f"{major.value}.{minor.value}", call=text)
    return minor if isinstance(major, Read) else major


def _attribute(driver: DriverLibrary, handle: ctypes.c_int, name: str) -> Reading:
    constant, number = ATTRIBUTES[name]
    reading = _number(driver, handle, number, f"cuDeviceGetAttribute({constant})")
    if not isinstance(reading, Read):
        return reading
    value = int(str(reading.value))
    if name == "integrated":
        return reading.model_copy(update={"value": bool(value)})
    if value == 0 and name not in _MAY_BE_ZERO:
        return Unread(status="not_available", code="the driver gave 0", call=reading.call)
    # The driver's clock rates are in kHz.
    return reading.model_copy(update={"value": value // 1000}) if name.endswith("_mhz") else reading


def _number(driver: DriverLibrary, handle: ctypes.c_int, attribute: int, text: str) -> Reading:
    value = ctypes.c_int()
    return _ask(driver, "cuDeviceGetAttribute", value, (attribute, handle), lambda: value.value, text=text)


def _ask(
    driver: DriverLibrary,
    function: str,
    out: Any,
    arguments: tuple[Any, ...],
    take: Callable[[], Value],
    *,
    text: str = "",
) -> Reading:
    """Call ``function(&out, *arguments)``; ``take`` reads the answer out of ``out``."""
    call = text or function
    try:
        error = getattr(driver, function)(ctypes.byref(out), *arguments)
    except AttributeError:
        return Unread(status="function_missing", code=f"libcuda has no {function}", call=call)
    if error:
        # INVALID_VALUE for an attribute is how a driver says that it does not know the attribute.
        unknown = error == 801 or (error == 1 and function == "cuDeviceGetAttribute")
        return Unread(status="not_supported" if unknown else "error", code=_name(error), call=call)
    try:
        value = take()
    except ValueError as reason:
        return Unread(status="error", code=str(reason)[:300], call=call)
    if value == "":
        return Unread(status="not_available", code="the driver gave an empty text", call=call)
    return Read(value=value, call=call)


def _name(error: int) -> str:
    return f"{_NAMES.get(error, 'CUresult')} ({error})"
