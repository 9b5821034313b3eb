"""Single rules of reading: one field's failure, joining, numbers that moved, what a mask means."""

from __future__ import annotations

from typing import Any

import pynvml
import pytest

from bundler.host import Sampler, probe_host, sample
from bundler.host.fields import SAMPLED, STABLE
from bundler.host.identity import bus_id, hashed
from bundler.host.reasons import EventReason, decode
from bundler.model.host import Read, Reading

OTHER = "0d3c1f8e-54c1-4b8a-b6a5-6f0a3b1c2d3e"


def value(reading: Reading) -> object:
    return reading.value if isinstance(reading, Read) else reading


@pytest.mark.parametrize("failing", sorted({call.text for calls in STABLE.values() for call in calls}))
def test_one_failing_function_costs_its_own_fields_only(build: Any, failing: str) -> None:
    function = failing.partition("(")[0]
    whole = probe_host(build.nvml([build.gpu()]), build.driver([])).gpus[0].fields
    lame = probe_host(build.nvml([build.gpu()], driver_lacks=(function,)), build.driver([])).gpus[0].fields
    for name, reading in lame.items():
        asked = (STABLE | SAMPLED).get(name, ())
        if not any(function == call.text.partition("(")[0] or "Supported" in call.text for call in asked):
            # A device that cannot be told apart is still read in full.
            assert reading == whole[name], name
    assert any(reading.status == "function_missing" for reading in lame.values())


def test_one_failing_field_value_costs_that_field_only(build: Any) -> None:
    board = build.gpu(fields={74: build.fail(999), 75: 12, 76: 0, 77: 0, 79: 0, 269: 1, 270: 2, 271: 3})
    fields = probe_host(build.nvml([board]), build.driver([])).gpus[0].fields
    assert fields["violation_power_ns"].status == "error"
    assert value(fields["violation_thermal_ns"]) == 12


def test_a_name_that_nvidia_ml_py_lacks_is_function_missing(build: Any) -> None:
    nvml = build.nvml([build.gpu()], package_lacks=("nvmlDeviceGetVbiosVersion", "NVML_CLOCK_MEM"))
    fields = probe_host(nvml, build.driver([])).gpus[0].fields
    assert fields["vbios"].status == "function_missing"
    assert fields["memory_clock_mhz"].status == "function_missing"
    assert value(fields["sm_clock_mhz"]) == 345


@pytest.mark.parametrize(
    ("version", "read"),
    [
        ("11.470.256", False),
        ("12.575.51", False),
        ("13.580.65.06", False),
        ("13.580.82.07", True),
        ("13.580.159.04", True),
        ("13.595.45", True),
        ("nonsense", False),
    ],
)
def test_counters_whose_number_moved_are_not_asked_of_drivers_that_mean_another(
    build: Any, version: str, read: bool
) -> None:
    nvml = build.nvml([build.gpu()], version="13.580.159" if version == "nonsense" else version)
    if version == "nonsense":
        nvml.system = {"nvmlSystemGetNVMLVersion": "nonsense"}
    reading = probe_host(nvml, build.driver([])).gpus[0].fields["violation_hw_thermal_ns"]
    assert (value(reading) == 22) == read
    assert reading.status == ("ok" if read else "not_available")


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("memory_total_bytes", pynvml.c_nvmlMemory_t(total=2**64 - 1, free=0, used=0)),
        ("pcie_gen_current", 2**32 - 1),
        ("memory_bus_width_bits", 0),
        ("vbios", None),
        ("name", ""),
    ],
)
def test_marks_for_no_value_are_never_values(build: Any, name: str, mark: object) -> None:
    function = STABLE[name][0].text
    fields = probe_host(build.nvml([build.gpu(**{function: mark})]), build.driver([])).gpus[0].fields
    assert fields[name].status == "not_available"


def test_bytes_that_are_no_text_cost_the_field(build: Any) -> None:
    board = build.gpu(nvmlDeviceGetName=b"\xff\xfe")
    reading = probe_host(build.nvml([board]), build.driver([])).gpus[0].fields["name"]
    assert (reading.status, "UnicodeDecodeError" in str(reading)) == ("error", True)


def test_cuda_and_nvml_are_joined_by_uuid_and_never_by_order(build: Any) -> None:
    nvml = build.nvml([build.gpu(), build.gpu(nvmlDeviceGetUUID=f"GPU-{OTHER}")])
    # CUDA_VISIBLE_DEVICES=1,0: CUDA's order is the other way round.
    driver = build.driver([build.cuda(uuid=OTHER) | {38: 111}, build.cuda() | {38: 222}])
    host = probe_host(nvml, driver)
    assert [value(gpu.fields["l2_bytes"]) for gpu in host.gpus] == [222, 111]
    assert [value(gpu.fields["cuda_ordinal"]) for gpu in host.gpus] == [1, 0]


def test_a_device_that_cuda_does_not_show_has_no_l2(build: Any) -> None:
    nvml = build.nvml([build.gpu(), build.gpu(nvmlDeviceGetUUID=f"GPU-{OTHER}")])
    host = probe_host(nvml, build.driver([build.cuda(uuid=OTHER)]))
    assert host.gpus[0].fields["l2_bytes"].status == "not_available"
    assert host.cuda_device(0) == host.gpus[1]


def test_the_bus_id_joins_where_a_uuid_cannot_be_read(build: Any) -> None:
    nvml = build.nvml([build.gpu(nvmlDeviceGetUUID=build.fail(3))])
    host = probe_host(nvml, build.driver([build.cuda()]))
    assert len(host.gpus) == 1
    assert value(host.gpus[0].fields["l2_bytes"]) == 62_914_560


def test_an_attribute_that_the_driver_does_not_know_is_not_supported(build: Any) -> None:
    device = build.cuda()
    del device[108]
    fields = probe_host(build.nvml([build.gpu()]), build.driver([device])).gpus[0].fields
    assert fields["l2_persisting_max_bytes"].status == "not_supported"
    assert value(fields["l2_bytes"]) == 62_914_560


def test_the_reasons_are_pynvmls_and_more() -> None:
    for reason in EventReason:
        name = "".join(part.capitalize() for part in str(reason.name).split("_"))
        assert getattr(pynvml, f"nvmlClocksThrottleReason{name}") == reason
    assert decode(0) == ()
    assert decode(1 << 63) == ("unknown bit 0x8000000000000000",)


def test_ids_in_both_spellings() -> None:
    assert hashed("GPU-ABCD") == hashed("abcd") == hashed("MIG-abcd")
    assert len(hashed("x")) == 16
    assert bus_id("00000000:0A:00.0") == bus_id("0000:0a:00.0") == "0000:0a:00.0"


def test_sampling_finds_the_device_again_and_leaves_out_its_own_processes(build: Any) -> None:
    pids = [pynvml.nvmlFriendlyObject({"pid": pid}) for pid in (5, 6, 6)]
    wanted = build.gpu(nvmlDeviceGetUUID=f"GPU-{OTHER}", nvmlDeviceGetComputeRunningProcesses_v3=pids)
    host = probe_host(build.nvml([build.gpu(), wanted]), build.driver([]))
    later = build.nvml([wanted, build.gpu()])
    with Sampler(host.gpus[1], later, own={5}) as sampler:
        first = sampler.sample()
        wanted["nvmlDeviceGetCurrentClocksEventReasons"] = 0x4
        second = sampler.sample()
    assert later.opened == 0
    assert set(first) == {*SAMPLED, "event_reasons"}
    assert value(first["other_compute_processes"]) == 1
    assert (value(first["event_reasons"]), value(second["event_reasons"])) == (
        ("gpu_idle",),
        ("sw_power_cap",),
    )


def test_sampling_a_slice_reads_the_whole_gpus_clocks(machine: Any) -> None:
    found = machine("mig")
    part = probe_host(found.nvml, found.driver).gpus[1]
    assert value(sample(part, found.nvml)["sm_clock_mhz"]) == 345


def test_sampling_never_raises(build: Any, machine: Any) -> None:
    gpu = probe_host(build.nvml([build.gpu()]), build.driver([])).gpus[0]
    for nvml in (machine("no_driver").nvml, build.nvml([]), build.nvml([{"handle": build.fail(15)}])):
        assert all(not isinstance(reading, Read) for reading in sample(gpu, nvml).values())
