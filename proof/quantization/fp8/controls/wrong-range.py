# A control, written with the harness: the scale is for the largest value of the wrong format.
#
# 240 is the largest value of float8_e4m3fnuz. q * scale still approximates x, nearly as well, but no code is over 240, so
# a row does not use the range. It is right where all values are zero. It compiles everywhere: nothing but running
# it can tell.
import torch
import triton
import triton.language as tl


@triton.jit
def _quantise_kernel(
    x_ptr, q_ptr, scale_ptr, cols, stride_row, stride_col, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK).to(tl.int64)
    peak = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + row * stride_row + (start + at) * stride_col, mask=start + at < cols, other=0.0)
        peak = tl.maximum(peak, tl.abs(x.to(tl.float32)))
    largest = tl.max(peak, axis=0)
    scale = tl.where(largest > 0.0, tl.div_rn(largest, 240.0), 1.0)
    tl.store(scale_ptr + row, scale)
    for start in range(0, cols, BLOCK):
        x = tl.load(x_ptr + row * stride_row + (start + at) * stride_col, mask=start + at < cols, other=0.0)
        steps = tl.div_rn(x.to(tl.float32), tl.zeros((BLOCK,), tl.float32) + scale)
        steps = tl.minimum(tl.maximum(steps, -448.0), 448.0)
        tl.store(q_ptr + row * cols + start + at, steps.to(tl.float8e4nv), mask=start + at < cols)


def quantize_fp8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, cols = x.shape
    q = torch.empty((rows, cols), dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty((rows,), dtype=torch.float32, device=x.device)
    if q.numel() == 0:
        return q, scale
    with torch.cuda.device(x.device):
        _quantise_kernel[(rows,)](x, q, scale, cols, x.stride(0), x.stride(1), BLOCK=1024)
    return q, scale
