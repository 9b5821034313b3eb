"""The real probe: in processes of its own, so that a driver in trouble costs no more than its half."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bundler.cli.host import app
from bundler.host import child, probe_host
from bundler.host.child import Asked
from bundler.host.driver import DriverReport
from bundler.host.identity import hashed
from bundler.host.system import read_software, read_system
from bundler.model.host import Host, Read


def _asked(code: str, deadline_s: float = 5) -> str:
    answer = Asked("nvml", command=(sys.executable, "-c", code), deadline_s=deadline_s).answer(DriverReport)
    assert isinstance(answer, str)
    return answer


def test_a_process_that_does_not_answer_is_left_behind() -> None:
    started = time.monotonic()
    assert _asked("import time; time.sleep(60)", 0.3) == "no answer within 0.3 s"
    assert time.monotonic() - started < 3


def test_how_a_process_ended_is_said() -> None:
    assert "SIGSEGV" in _asked("import os; os.kill(os.getpid(), 11)")
    assert _asked("raise ValueError('deep inside')").endswith("ended with 1: ValueError: deep inside")
    assert "cannot be read" in _asked("print('no JSON')")


def test_no_process_at_all() -> None:
    answer = Asked("nvml", command=("/nowhere/python",)).answer(DriverReport)
    assert "no process could be started" in str(answer)


def _library(folder: Path, name: str, body: str) -> None:
    source = folder / "library.c"
    source.write_text(body)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder / name), str(source)], check=True)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc to build a broken driver with")
def test_a_driver_that_crashes_and_an_nvml_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _library(tmp_path, "libcuda.so.1", "int cuInit(int f) { *(volatile int *)0 = 1; return f; }")
    _library(
        tmp_path,
        "libnvidia-ml.so.1",
        "#include <unistd.h>\nint nvmlInitWithFlags(int f) { for (;;) sleep(9); return f; }",
    )
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setattr(child, "DEADLINE_S", 3.0)
    started = time.monotonic()
    host = probe_host()
    assert time.monotonic() - started < 6
    assert "NVML: no answer within 3 s" in host.no_gpu
    assert "CUDA driver: the process that asked was ended by SIGSEGV" in host.no_gpu


WORKING = r"""
#include <string.h>
int cuInit(unsigned flags) { return flags; }
int cuDriverGetVersion(int *out) { *out = 13000; return 0; }
int cuDeviceGetCount(int *out) { *out = 1; return 0; }
int cuDeviceGet(int *out, int ordinal) { *out = 40 + ordinal; return 0; }
int cuDeviceGetName(char *out, int size, int dev) { strncpy(out, "Some GPU", size); return dev != 40; }
int cuDeviceGetUuid(void *out, int dev) { memset(out, 7, 16); return dev != 40; }
int cuDeviceTotalMem_v2(unsigned long *out, int dev) { *out = 6UL << 30; return dev != 40; }
int cuDeviceGetAttribute(int *out, int attribute, int dev)
{ *out = attribute; return attribute == 108 || dev != 40; }
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc to build a driver with")
def test_a_driver_through_ctypes_without_nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _library(tmp_path, "libcuda.so.1", WORKING)
    _library(tmp_path, "libnvidia-ml.so.1", "int nvmlInitWithFlags(int f) { return 9; }")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    fields = probe_host().gpus[0].fields
    read = {name: reading.value for name, reading in fields.items() if isinstance(reading, Read)}
    assert read["name"] == "Some GPU"
    assert read["uuid_sha256"] == hashed("07070707-0707-0707-0707-070707070707")
    assert (read["memory_total_bytes"], read["l2_bytes"], read["compute_capability"]) == (
        6 << 30,
        38,
        "75.76",
    )
    assert fields["l2_persisting_max_bytes"].status == "not_supported"
    assert fields["pci_bus_id"].status == "function_missing"
    assert "kernel driver is not loaded" in str(fields["nvml_index"])


def test_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    host = probe_host()
    assert bool(host.gpus) != bool(host.no_gpu)
    assert "ModuleNotFoundError" not in host.no_gpu
    assert "torch" not in sys.modules or "torch" in host.software


@pytest.mark.gpu
def test_a_real_gpu() -> None:
    host = probe_host()
    if not host.gpus:
        pytest.skip(host.no_gpu)
    gpu = host.cuda_device(0)
    assert gpu
    for name in ("name", "uuid_sha256", "l2_bytes", "sm_count", "sm_clock_mhz", "event_reasons"):
        assert isinstance(gpu.fields[name], Read), gpu.fields[name]


def test_the_command_prints_a_table_and_json() -> None:
    table = CliRunner().invoke(app, [], env={"COLUMNS": "200"})
    assert table.exit_code == 0
    assert "cpu_cores_usable" in table.output
    printed = CliRunner().invoke(app, ["--json"])
    assert Host.model_validate_json(printed.output).software["python"].startswith("CPython")


def test_the_machines_own_files(tmp_path: Path) -> None:
    files = {
        "proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD Ryzen 5\n",
        "proc/meminfo": "MemTotal:       16000 kB\n",
        "proc/1/cgroup": "0::/docker/abc\n",
        "proc/device-tree/model": "NVIDIA Jetson Orin Nano\0",
        "etc/os-release": 'NAME=x\nPRETTY_NAME="Ubuntu 24.04"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026532201]")
    read = {
        name: reading.value for name, reading in read_system(tmp_path).items() if isinstance(reading, Read)
    }
    assert read["wsl2"] is True
    assert read["pid_namespace"] == "own"
    assert read["cpu_model"] == "AMD Ryzen 5"
    assert read["memory_bytes"] == 16_384_000
    assert read["container"] == "docker"
    assert read["board"] == "NVIDIA Jetson Orin Nano"
    assert read["os"] == "Ubuntu 24.04"


def test_files_that_are_not_there_are_reasons(tmp_path: Path) -> None:
    system = read_system(tmp_path)
    assert system["cpu_model"].status == "not_available"
    assert system["memory_bytes"].status == "not_available"
    assert read_software()["nvidia-ml-py"] != "not installed"
