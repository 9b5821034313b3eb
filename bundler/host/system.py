"""The machine around the GPU, and the packages that decide what is compiled."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

from bundler.model.host import Read, Reading, Unread, Value

ROOT = Path("/")
PACKAGES = ("torch", "triton", "numpy", "nvidia-ml-py")
_LAUNCHER = "cuda-core"
"""Named where it is installed: CUDA C++ on a GPU needs it, and nothing else does."""


def read_software() -> dict[str, str]:
    """Versions by the installed packages' metadata: importing torch would take seconds."""
    versions = {"python": f"{platform.python_implementation()} {platform.python_version()}"}
    versions |= {name: _version(name) for name in PACKAGES}
    launcher = _version(_LAUNCHER)
    return versions if launcher == "not installed" else versions | {_LAUNCHER: launcher}


def _version(package: str) -> str:
    try:
        return metadata.version(package) or "unreadable"
    except metadata.PackageNotFoundError:
        return "not installed"
    except (KeyError, ValueError, OSError):
        return "unreadable"


def read_system(root: Path = ROOT) -> dict[str, Reading]:
    """What runs here. ``root`` is where /proc, /sys and /etc are looked for."""
    kernel = _text(root, "proc/sys/kernel/osrelease")
    return {
        "os": _of_lines(root, "etc/os-release", "PRETTY_NAME", "="),
        "kernel": kernel if isinstance(kernel, Read) else Read(value=platform.release(), call="uname"),
        "machine": Read(value=platform.machine(), call="uname"),
        "board": _board(root),
        "cpu_model": _of_lines(root, "proc/cpuinfo", "model name", ":"),
        "cpu_cores": _known(os.cpu_count(), "os.cpu_count"),
        "cpu_cores_usable": _usable(),
        "memory_bytes": _memory(root),
        "container": _container(root),
        "pid_namespace": _pid_namespace(root),
        "wsl2": Read(value=is_wsl2(root), call="/proc/sys/kernel/osrelease, /dev/dxg"),
    }


def is_wsl2(root: Path = ROOT) -> bool:
    """Microsoft's kernel, or its device for the host's GPU."""
    kernel = _text(root, "proc/sys/kernel/osrelease")
    microsoft = isinstance(kernel, Read) and "microsoft" in str(kernel.value).lower()
    return microsoft or (root / "dev/dxg").exists()


def _text(root: Path, path: str) -> Reading:
    call = f"/{path}"
    try:
        text = (root / path).read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except PermissionError as error:
        return Unread(status="no_permission", code=error.strerror or "", call=call)
    except OSError as error:
        return Unread(status="not_available", code=error.strerror or "", call=call)
    return Read(value=text, call=call)


def _of_lines(root: Path, path: str, key: str, mark: str) -> Reading:
    """The value of the first line ``key mark value``."""
    whole = _text(root, path)
    if not isinstance(whole, Read):
        return whole
    for line in str(whole.value).splitlines():
        name, found, value = line.partition(mark)
        if found and name.strip() == key:
            return Read(value=value.strip().strip('"'), call=whole.call)
    return Unread(status="not_available", code=f"no line {key!r}", call=whole.call)


def _memory(root: Path) -> Reading:
    line = _of_lines(root, "proc/meminfo", "MemTotal", ":")
    if not isinstance(line, Read):
        return line
    kibibytes = str(line.value).removesuffix("kB").strip()
    if not kibibytes.isdecimal():
        return Unread(status="error", code=f"MemTotal reads {line.value!r}", call=line.call)
    return Read(value=int(kibibytes) * 1024, call=line.call)


def _board(root: Path) -> Reading:
    """What the firmware calls the machine: a Jetson by its device tree, others by DMI."""
    tree = _text(root, "proc/device-tree/model")
    return tree if isinstance(tree, Read) else _text(root, "sys/class/dmi/id/product_name")


def _container(root: Path) -> Reading:
    """``docker``, ``podman``, what the container says of itself, or ``none seen``."""
    for path, name in (("run/.containerenv", "podman"), (".dockerenv", "docker")):
        if (root / path).exists():
            return Read(value=name, call=f"/{path}")
    if said := os.environ.get("container"):  # noqa: SIM112 (systemd and podman spell it so)
        return Read(value=said[:100], call="environment: container")
    groups = _text(root, "proc/1/cgroup")
    if isinstance(groups, Read):
        marks = ("docker", "kubepods", "containerd", "libpod", "lxc")
        seen = next((mark for mark in marks if mark in str(groups.value)), "none seen")
        return Read(value=seen, call=groups.call)
    return groups


_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""Linux gives the first one this number (PROC_PID_INIT_INO)."""


def _pid_namespace(root: Path) -> Reading:
    """``initial``, or ``own``: there NVML lists no process of outside."""
    call = "/proc/self/ns/pid"
    try:
        link = str((root / "proc/self/ns/pid").readlink())
    except OSError as error:
        return Unread(status="not_available", code=error.strerror or "", call=call)
    return Read(value="initial" if link == _INITIAL_PID_NAMESPACE else "own", call=call)


def _known(value: Value | None, call: str) -> Reading:
    return Unread(status="not_available", call=call) if value is None else Read(value=value, call=call)


def _usable() -> Reading:
    if sys.platform != "linux":
        return Unread(status="function_missing", call="os.sched_getaffinity")
    return Read(value=len(os.sched_getaffinity(0)), call="os.sched_getaffinity")
