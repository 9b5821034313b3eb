"""CUDA C++ to PTX and cubin by NVRTC: no GPU, no libcuda, no host compiler.

Nothing of the source is executed. It is compiled in the working folder, where the header folders of the
installed wheels have links with fixed names, so that no path of this machine gets into the PTX.
"""

from __future__ import annotations

import importlib.metadata
import re
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda.bindings import nvrtc

from bundler.worker.cubin import has_kernel
from bundler.worker.headers import STANDARD

NAME = "candidate.cu"
_MOST_ERRORS = 5
_FIXED = ("--std=c++17", "--ptxas-options=-v")
_FOLDERS = {
    # CUDA 13's wheels share a folder; those of CUDA 12 have one each.
    "cuda": ("nvidia/cu13/include", "nvidia/cuda_runtime/include"),
    "cccl": ("nvidia/cu13/include/cccl", "nvidia/cuda_cccl/include"),
    "crt": ("nvidia/cuda_nvcc/include",),
}
"""Links in the working folder, and the first of which folders of site-packages each one leads to."""

Parameters = Sequence[Sequence[Any]]
"""Of each parameter its name, and the least and the most bytes that it may have in the kernel."""


class CompileFailed(Exception):
    """NVRTC refused the source; ``str`` is the start of its log."""


class Unsupported(Exception):
    """This NVRTC has no such architecture; ``str`` says so."""


@dataclass(frozen=True)
class Compiled:
    """One kernel for one architecture."""

    ptx: bytes
    cubin: bytes
    registers: int
    """Of one thread, from the log of NVRTC's ptxas."""
    static_shared_bytes: int
    spill_bytes: int
    """Spill stores of one thread."""


def version() -> str:
    """NVRTC's, as 13.0."""
    _, major, minor = nvrtc.nvrtcVersion()
    return f"{major}.{minor}"


def unsupported(sm: int) -> str:
    """Why this NVRTC does not compile for an architecture; empty where it does."""
    return "" if sm in _architectures() else f"NVRTC {version()} compiles for no sm_{sm}"


def compile_source(
    source: bytes, entry: str, sm: int, options: Sequence[str], parameters: Parameters = ()
) -> Compiled:
    """PTX and cubin of ``source``, which has to define ``entry``. Raises CompileFailed, Unsupported.

    ``parameters``: how the kernel will be called; one that takes others is refused. Empty: not looked at.
    """
    if reason := unsupported(sm):
        raise Unsupported(reason)
    if b"\0" in source:
        raise CompileFailed("the source has a NUL byte")
    every = [f"--gpu-architecture=sm_{sm}", *_FIXED, *_include_options(), *options]
    ptx, cubin, log = _run(source, every)
    # The PTX has what the source's asm says, comments too: that the cubin has the kernel is what counts.
    taken = re.search(rf"^\.visible \.entry {re.escape(entry)}\(([^()]*)\)".encode(), ptx, re.M)
    if taken is None or not has_kernel(cubin, entry):
        raise CompileFailed(f'the source defines no extern "C" __global__ function {entry!r}')
    if len(re.findall(rf"\.entry\s+{re.escape(entry)}\b".encode(), ptx)) > 1:
        raise CompileFailed(f"the PTX says more than once that it defines {entry!r}")
    if parameters:
        _check_parameters(taken[1].decode("utf-8", "replace"), entry, parameters)
    registers, shared, spills = usage(log, entry)
    return Compiled(ptx, cubin, registers, shared, spills)


def _check_parameters(taken: str, entry: str, given: Parameters) -> None:
    """The driver reads as much as the kernel declares, wherever that is. Raises CompileFailed."""
    sizes = [_size(one) for one in taken.split(",") if one.strip()]
    if len(sizes) != len(given):
        raise CompileFailed(f"{entry!r} takes {len(sizes)} parameters and is called with {len(given)}")
    for place, (size, (name, least, most)) in enumerate(zip(sizes, given, strict=True)):
        if not least <= size <= most:
            raise CompileFailed(
                f"parameter {place} of {entry!r} has {size} bytes and is called with {name!r} of {most}"
            )


def _size(parameter: str) -> int:
    """Bytes of ``.param .u64 .ptr .align 1 k_param_0``, or of ``.param .align 4 .b8 k_param_0[20]``."""
    bits = re.search(r"\.[bfsu](8|16|32|64)\b", parameter)
    count = re.search(r"\[(\d+)\]\s*$", parameter)
    return (int(bits[1]) // 8 if bits else 0) * (int(count[1]) if count else 1)


def usage(log: str, entry: str) -> tuple[int, int, int]:
    """Registers, static shared memory and spill stores of ``entry``, from ptxas' part of the log.

    ptxas writes last: what a source's own warnings say before that is not taken for its words.
    """
    start = log.rfind(f"\nptxas info    : Compiling entry function '{entry}' for ")
    part = log[start + 1 :].split("\nptxas info    : Compiling entry function", 1)[0] if start >= 0 else ""

    def numbers(pattern: str) -> list[int]:
        return [int(number) for number in re.findall(pattern, part, re.M)]

    registers = numbers(r"^ptxas info    : Used (\d+) registers")
    shared = numbers(r"^ptxas info    : Used .*?(\d+) bytes smem")
    spills = numbers(r"^ptxas .*?(\d+) bytes spill stores")
    return max(registers, default=0), max(shared, default=0), sum(spills)


def _run(source: bytes, options: list[str]) -> tuple[bytes, bytes, str]:
    names = list(STANDARD)
    texts = [STANDARD[name].encode() for name in names]
    program = _checked(
        nvrtc.nvrtcCreateProgram(source, NAME.encode(), len(names), texts, [name.encode() for name in names])
    )
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [one.encode() for one in options])
        log = _get(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        text = log.rstrip(b"\0").decode("utf-8", "replace")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileFailed(_start(text) or f"NVRTC ended with {status.name}")
        ptx = _get(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).rstrip(b"\0")
        return ptx, _get(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN), "\n" + text
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _get(program: Any, size: Any, content: Any) -> bytes:
    data = bytearray(_checked(size(program)))
    (status,) = content(program, data)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileFailed(f"NVRTC ended with {status.name}")
    return bytes(data)


def _checked(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileFailed(f"NVRTC ended with {status.name}")
    return values[0]


def _start(log: str) -> str:
    """The first errors, each in a line with the code that it is about; else the log's start."""
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    errors = [
        f"{line} [{lines[i + 1].strip()}]" if lines[i + 1 : i + 2] and lines[i + 1].startswith(" ") else line
        for i, line in enumerate(lines)
        if re.match(r"\S+\(\d+\): (catastrophic )?error\b", line)
    ]
    return "\n".join(line[:600] for line in errors[:_MOST_ERRORS] or lines[:_MOST_ERRORS])[:1800]


def _architectures() -> frozenset[int]:
    _, found = nvrtc.nvrtcGetSupportedArchs()
    return frozenset(found)


def _include_options() -> list[str]:
    """The header folders that are installed, by links with names that are the same everywhere."""
    site = Path(str(importlib.metadata.distribution("cuda-bindings").locate_file("")))
    roots = [site, *(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))]
    options = []
    for link, folders in _FOLDERS.items():
        there = next((r / f for f in folders for r in roots if (r / f).is_dir()), None)
        if there is None:
            continue
        if not Path(link).is_symlink():
            Path(link).symlink_to(there)
        options.append(f"--include-path={link}")
    return options
