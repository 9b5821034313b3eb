"""NVRTC's options: those that change what is computed, and none that reaches a file or another ground."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bundler.model.cuda import CudaArgument, CudaCall, Scalar

ARGUMENT = CudaArgument(name="x", input=0)


def _with(*options: str) -> CudaCall:
    return CudaCall(arguments=(ARGUMENT,), grid=(1,), block=(1,), options=options)


@pytest.mark.parametrize(
    "option",
    [
        "-DN=3", "-DNAME", "-DT=float", "-UNDEBUG", "--use_fast_math", "-use_fast_math", "--fmad=false",
        "--maxrregcount=64", "--std=c++20", "-std=c++17", "--restrict", "--ptxas-options=-O1",
    ],
)  # fmt: skip
def test_options_that_change_what_is_computed(option: str) -> None:
    assert _with(option).options == (option,)


@pytest.mark.parametrize(
    "option",
    [
        "-I/etc", "--include-path=/", "--pre-include=/etc/passwd", "-time=/t", "--fdevice-time-trace=/t",
        "--create-pch=/p", "--use-pch=/p", "--pch-dir=/", "--ptxas-options=--options-file=/etc/passwd",
        "--ptxas-options=-o,/tmp/x", "@/etc/passwd", "-arch=sm_75", "--gpu-architecture=sm_75", "-rdc=true",
        "-dlto", "-w", "-DA b", "-D", "--ptxas-options=-O1\n-I/", "--fmad=false --x", "",
    ],
)  # fmt: skip
def test_options_that_reach_files_or_another_architecture(option: str) -> None:
    with pytest.raises(ValidationError, match="should match pattern"):
        _with(option)


def test_how_many_bytes_a_parameter_has() -> None:
    assert ARGUMENT.kernel_bytes == (8, 8)
    assert CudaArgument(name="y", output="out").kernel_bytes == (8, 8)
    sizes = {kind: CudaArgument(name="n", value=1, type=kind).kernel_bytes for kind in Scalar}
    assert sizes[Scalar.INT] == sizes[Scalar.UNSIGNED_LONG_LONG] == (1, 8)
    assert (sizes[Scalar.FLOAT], sizes[Scalar.DOUBLE]) == ((4, 4), (8, 8))
