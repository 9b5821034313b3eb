"""The numbers of system calls, held against the kernel's own headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bundler.worker.system_calls import MACHINES

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
NEWER = {
    "fchmodat2",
    "setxattrat",
    "getxattrat",
    "listxattrat",
    "removexattrat",
    "open_tree_attr",
    "file_setattr",
}
"""Than Linux 6.1, whose headers a distribution may have."""


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    headers = [Path(path) for path in HEADERS[machine] if Path(path).exists()]
    if not headers:
        pytest.skip("the kernel's headers are not here")
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", headers[0].read_text())
    kernels = {name: int(number) for name, number in found}
    for name, number in MACHINES[machine].calls.items():
        if name not in NEWER or name in kernels:
            assert number == kernels.get(name), name


def test_what_is_new_has_one_number_everywhere() -> None:
    """https://www.kernel.org/doc/html/latest/process/adding-syscalls.html"""
    x86_64, aarch64 = (MACHINES[name].calls for name in ("x86_64", "aarch64"))
    assert x86_64.keys() >= NEWER
    for name, number in x86_64.items():
        assert number is not None
        assert number < 424 or aarch64[name] == number
