"""What a worker may use and see: limits, environment, the paths that it can reach."""

from __future__ import annotations

import math
import os
import site
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bundler
from bundler.model.experiment import Limits

GIB = 1 << 30
OWN_CODE_BYTES = 8 * GIB
"""For a worker that runs no stranger's code: torch's look at the device, ptxas over one kernel."""


@dataclass(frozen=True)
class Allowance:
    """What one worker may use before it is killed."""

    memory_bytes: int
    scratch_bytes: int = GIB
    data_bytes: int | None = None
    """RLIMIT_DATA; None where a CUDA context needs the address space."""
    cpu_seconds: int = 3600
    anonymous_files: bool = False
    """memfd_create: CUDA's driver needs it. Nothing but a cgroup counts what is written there."""


def allowance_for(limits: Limits, *, on_device: bool, slow_s: float = 0) -> Allowance:
    """What a candidate may use under an experiment's limits; ``slow_s`` is what its slow cells may take."""
    memory = int(limits.host_memory_gib * GIB)
    # Stand-ins of huge inputs are address space that is never touched, on top of the memory.
    data = None if on_device else memory + 32 * GIB
    return Allowance(
        memory_bytes=memory,
        data_bytes=data,
        cpu_seconds=Allowance.cpu_seconds + math.ceil(slow_s),
        anonymous_files=on_device,
    )


PASSED_ON = (
    "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "TRITON_LIBCUDA_PATH",
    "NVIDIA_VISIBLE_DEVICES", "TRITON_PTXAS_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "TMPDIR",
)  # fmt: skip
"""What a zygote has of its caller's environment."""


def zygote_environment(scratch: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """A zygote's whole environment: nothing of the caller's but what finds Python, torch and the GPU."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    root = str(Path(bundler.__file__).resolve().parent.parent)
    return environment | {
        "PYTHONPATH": os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH", "")))),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TRITON_DISABLE_LINE_INFO": "1",
        "TRITON_STORE_BINARY_ONLY": "1",
        "TRITON_CACHE_DIR": str(scratch / "triton"),
        "HOME": str(scratch),
        "USER": "nobody",
        **extra,
    }


def worker_environment(scratch: Path) -> dict[str, str]:
    """What a worker's environment has on top of its zygote's: folders of its own."""
    folder = str(scratch)
    return {
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "HOME": folder,
        "TMPDIR": folder,
        "CUDA_CACHE_PATH": folder,
    }


def confinement(scratch: Path, allowance: Allowance) -> dict[str, Any]:
    """The fields of ``worker.sandbox.Confinement`` for one worker."""
    return {
        "readable": readable_paths(),
        # CUDA names its threads by writing there; without that cuInit ends with error 304.
        "writable": [str(scratch), *_DEVICES, "/proc/self/task"],
        "data_bytes": allowance.data_bytes,
        "cpu_seconds": allowance.cpu_seconds,
        "anonymous_files": allowance.anonymous_files,
    }


_DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidiactl", "/dev/nvidia-uvm",
    "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", "/dev/dxg", *(f"/dev/nvidia{n}" for n in range(16)),
)  # fmt: skip
_SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/sbin", "/sys",
    # Of /etc what the loader, the C library and NVIDIA's driver read; of /proc nothing about others.
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
    "/etc/localtime", "/etc/timezone", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/nvidia",
    "/etc/OpenCL", "/etc/os-release", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
    "/proc/version", "/proc/devices", "/proc/modules", "/proc/filesystems", "/proc/driver", "/proc/sys",
    "/proc/uptime", "/proc/loadavg", "/proc/cgroups", "/proc/cmdline",
)  # fmt: skip


def readable_paths() -> tuple[str, ...]:
    """Python, its packages, the system's programs and libraries: no bundle, no home, no other scratch.

    The folder that bundler itself lies in is left out unless it is a package folder: a checkout also
    has the experiments.
    """
    own = Path(bundler.__file__).resolve().parent.parent
    packages = {
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "include")
    }
    libraries = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    candidates = [
        *map(Path, _SYSTEM),
        *map(Path, filter(None, packages)),
        *(
            Path(p) / d
            for p in {sys.prefix, sys.base_prefix, sys.exec_prefix}
            for d in ("lib", "bin", "include")
        ),
        *map(Path, site.getsitepackages()),
        *libraries,
        *(entry for entry in map(Path, filter(None, sys.path)) if _holds_packages(entry, own)),
    ]
    return tuple(sorted({str(path) for path in candidates if path.exists()}))


def _holds_packages(entry: Path, own: Path) -> bool:
    """Whether a folder of sys.path is one of installed packages, and not bundler's checkout.

    Under ``python -m`` the current folder is one: with a clone of Triton in it, it may have all else as well.
    """
    packages = (entry / name / "__init__.py" for name in ("torch", "triton", "numpy"))
    return entry.resolve() != own and any(map(Path.is_file, packages))
