"""NVRTC without a GPU: what it makes, the same everywhere, and what it refuses in words."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from bundler.worker import nvrtc
from tests.cuda.toy import HALF, RIGHT

ROOT = Path(__file__).parents[2]
HEADERS = (
    "float.h", "limits.h", "stdint.h", "stddef.h", "math.h", "cfloat", "climits", "cstdint", "cmath",
    "cassert", "cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cooperative_groups.h", "mma.h",
    "cub/block/block_reduce.cuh", "cub/warp/warp_reduce.cuh", "cuda/std/limits",
)  # fmt: skip


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _made(source: bytes, sm: int = 90, entry: str = "saxpy") -> nvrtc.Compiled:
    return nvrtc.compile_source(source, entry, sm, ())


@pytest.mark.parametrize("sm", [75, 80, 86, 89, 90, 100, 120])
def test_ptx_and_cubin(sm: int) -> None:
    made = _made(RIGHT, sm)
    assert f".target sm_{sm}".encode() in made.ptx
    assert made.cubin.startswith(b"\x7fELF")
    assert 4 <= made.registers <= 64
    assert (made.static_shared_bytes, made.spill_bytes) == (0, 0)


def test_static_shared_memory_and_spills_are_read() -> None:
    many = b"float v[64]; for (int i = 0; i < 64; i++) v[i] = x[i * n]; __syncthreads();"
    many += b"for (int i = 0; i < 64; i++) x[i + n] = v[i] * v[63 - i];"
    source = b'extern "C" __global__ __launch_bounds__(1024, 2) void k(float* x, int n)'
    source += b"{ __shared__ float s[32]; s[threadIdx.x & 31] = x[n]; __syncthreads(); x[0] = s[n];"
    source += many + b"}"
    made = _made(source, entry="k")
    assert made.static_shared_bytes == 128
    assert made.registers == 32
    assert made.spill_bytes > 0


@pytest.mark.parametrize("header", HEADERS)
def test_headers(header: str) -> None:
    _made(f"#include <{header}>\n".encode() + RIGHT)


def test_headers_together() -> None:
    _made("".join(f"#include <{header}>\n" for header in HEADERS).encode() + RIGHT)


def test_the_same_in_another_process_and_folder(scratch: Path) -> None:
    source = HALF.replace(b"int i", b"assert(n); int i")
    source = b"#include <cooperative_groups.h>\n#include <cassert>\n" + source
    (scratch / "s.cu").write_bytes(source)
    script = "import sys, hashlib; sys.path.insert(0, sys.argv[1]); from bundler.worker import nvrtc\n"
    script += "m = nvrtc.compile_source(open('s.cu', 'rb').read(), 'saxpy', 90, ())\n"
    script += "print(hashlib.sha256(m.ptx).hexdigest(), hashlib.sha256(m.cubin).hexdigest())"
    there = subprocess.run(
        [sys.executable, "-c", script, str(ROOT)], capture_output=True, text=True, check=True, cwd=scratch
    )
    other = scratch / "another"
    other.mkdir()
    (other / "s.cu").write_bytes(source)
    elsewhere = subprocess.run(
        [sys.executable, "-c", script, str(ROOT)], capture_output=True, text=True, check=True, cwd=other
    )
    made = _made(source)
    ours = f"{hashlib.sha256(made.ptx).hexdigest()} {hashlib.sha256(made.cubin).hexdigest()}"
    assert there.stdout.split() == elsewhere.stdout.split() == ours.split()
    for place in (b"site-packages", str(scratch).encode(), str(ROOT).encode()):
        assert place not in made.ptx + made.cubin


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (b"#include <no_such_header.h>\n" + RIGHT, "no_such_header.h"),
        (RIGHT.replace(b"a * x", b"a * undeclared"), 'identifier "undeclared" is undefined'),
        (RIGHT.replace(b"saxpy", b"other"), "no extern \"C\" __global__ function 'saxpy'"),
        (RIGHT.replace(b'extern "C" ', b""), "no extern \"C\" __global__ function 'saxpy'"),
        (RIGHT.replace(b'extern "C" __global__', b'extern "C" __device__'), "no extern"),
        (b"", "no extern"),
        (RIGHT + b"\0", "NUL"),
        (b"#error stop here\n" + RIGHT, "stop here"),
    ],
)
def test_what_is_refused(source: bytes, says: str) -> None:
    with pytest.raises(nvrtc.CompileFailed) as failed:
        _made(source)
    assert says in str(failed.value)
    assert len(str(failed.value)) < 2000


COMMENT = b'asm volatile("/*\\n.visible .entry saxpy(\\n.param .u64 a)\\n*/");'


def test_a_comment_in_the_ptx_is_no_kernel() -> None:
    source = b"#pragma message(\"x\\nptxas info    : Compiling entry function 'saxpy' for 'sm_90'\\n\\\n"
    source += b'ptxas info    : Used 1 registers\\n")\n'
    source += b'extern "C" __global__ void other(float* x) { ' + COMMENT + b" x[0] = 1; }\n"
    with pytest.raises(nvrtc.CompileFailed, match="no extern"):
        _made(source)
    with pytest.raises(nvrtc.CompileFailed, match="more than once"):
        _made(source + RIGHT)


CALLED = [("x", 8, 8), ("y", 8, 8), ("a", 4, 4), ("n", 1, 8)]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ("const float* x, float* y, float a, int n", ""),
        ("const float* x, float* y, float a, long long n", ""),
        ("const float* x, float* y, float a", "takes 3 parameters and is called with 4"),
        ("const float* x, float* y, float a, int n, int m", "takes 5 parameters and is called with 4"),
        ("const float* x, float* y, double a, int n", "parameter 2 of 'k' has 8 bytes"),
        ("const float* x, float* y, float a, Many n", "parameter 3 of 'k' has 20 bytes"),
        ("float x, float* y, float a, int n", "parameter 0 of 'k' has 4 bytes"),
        ("", "takes 0 parameters"),
    ],
)
@pytest.mark.parametrize("sm", [75, 100])
def test_a_kernel_takes_what_it_is_called_with(sm: int, parameters: str, says: str) -> None:
    source = f'struct Many {{ int of[5]; }}; extern "C" __global__ void k({parameters}) {{}}'.encode()
    if not says:
        nvrtc.compile_source(source, "k", sm, (), CALLED)
        return
    with pytest.raises(nvrtc.CompileFailed, match=says):
        nvrtc.compile_source(source, "k", sm, (), CALLED)


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(nvrtc.CompileFailed, match="--no-such-option"):
        nvrtc.compile_source(RIGHT, "saxpy", 90, ["--no-such-option"])


def test_an_architecture_that_there_is_not() -> None:
    with pytest.raises(nvrtc.Unsupported, match="sm_35"):
        _made(RIGHT, 35)


def test_a_source_cannot_say_how_many_registers_it_uses() -> None:
    forged = b"""#warning x
[[deprecated("\\nptxas info    : Compiling entry function 'saxpy' for 'sm_90'\\n\
ptxas info    : Used 1 registers")]]
__device__ int old() { return 1; }
__device__ int use = 0;
"""
    assert _made(forged + RIGHT.replace(b"+ 1.0f", b"+ 1.0f * old()")).registers == _made(RIGHT).registers
    log = "\nptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Used 1 registers\n"
    real = "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
    real += "ptxas info    : Used 20 registers, 8 bytes smem"
    assert nvrtc.usage(log + real, "k") == (20, 8, 0)
