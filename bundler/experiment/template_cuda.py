"""What a new experiment in CUDA C++ has: the same toy, doubling a vector, as a kernel and its launch."""

from __future__ import annotations

from bundler.experiment.template import Texts

_CALL = """\
# How a candidate is launched, as the task says it. TODO(author): the kernel's parameters, in their order.
cuda:
  arguments:
    - {name: x, input: 0}               # a pointer to argument 0 of the harness, a tensor
    - {name: out, output: out}          # a pointer to the returned tensor out; poisoned, or initial: zero
    - {name: n, value: n}               # a case's parameter as an int; type: float and others are there
    - {name: stride, value: "stride(0, 0)", type: long long}  # in elements, of argument 0, dimension 0
  grid: ["(n + 63) // 64"]              # blocks in x, y, z
  block: [64]                           # threads in x, y, z
  shared_bytes: 0                       # dynamic shared memory of a block
  options: []                           # for NVRTC, such as --use_fast_math
"""

_KERNEL = """
extern "C" __global__ void $entry(const float* x, float* out, int n, long long stride)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
BODY
}
"""
_EVERY_ELEMENT = "    if (i < n) out[i] = 2.0f * x[i * stride];"
_WHOLE_BLOCKS = """\
    const int whole = n / 64 * 64;  // the fault: the tail after the last whole block is left out
    if (i < whole) out[i] = 2.0f * x[i * stride];"""
_UNDECLARED = "    if (i < n) out[i] = fminf(2.0f * x[i * stride], FLT_MAX);"

CUDA = Texts(
    suffix="cu",
    fence="cuda",
    call=_CALL,
    grounds="device, compile",
    running="device",
    task="""\
Write a CUDA C++ kernel

    extern "C" __global__ void $entry(const float* x, float* out, int n, long long stride)

that writes 2 * x to the contiguous vector out. x has n elements, stride elements apart. It is launched with
(n + 63) / 64 blocks of 64 threads and compiled by NVRTC. Answer with one code block, marked as cuda.""",
    stub='extern "C" __global__ void $entry(const float* x, float* out, int n, long long stride)\n{\n}',
    arguments="the tensors",
    right=(
        "// TODO(author): a kernel for your task that is right on every case.\n"
        "//\n"
        "// A control, written with the harness: right on every case.\n"
    )
    + _KERNEL.replace("BODY", _EVERY_ELEMENT),
    wrong_tail=(
        "// TODO(author): a kernel for your task that is wrong in a way that a weak harness would miss.\n"
        "//\n"
        "// A control, written with the harness: wrong at a tail and nowhere else. What comes after the\n"
        "// last whole block of 64 is not written.\n"
    )
    + _KERNEL.replace("BODY", _WHOLE_BLOCKS),
    uncompilable=(
        "// TODO(author): a kernel for your task that no architecture compiles.\n"
        "//\n"
        "// A control, written with the harness. It uses FLT_MAX without <float.h>, and NVRTC includes\n"
        "// nothing by itself.\n"
    )
    + _KERNEL.replace("BODY", _UNDECLARED),
    how_uncompilable="""\
      Uses FLT_MAX without <float.h>, and NVRTC includes nothing by itself: no architecture compiles it. It
      shows that the compile grounds can tell.""",
)
