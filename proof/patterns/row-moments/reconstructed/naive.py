# A reconstruction of a published failure, not the output of a model.
#
# It was written after the fact from the skill's hazard (write-numerically-stable-kernel 0.1.0): "E[x^2] -
# E[x]^2 amplifies rounding by about 1 + mean^2/var; in FP32, |mean|/std of a few thousand leaves no correct
# digit." One pass, one sum and one sum of squares a lane, the squared mean subtracted at the end. The
# variance comes out as noise, and where it is below -1e-5 the caller's 1 / sqrt(var + 1e-5) is NaN.
# Everything else is meant to be right.
import torch
import triton
import triton.language as tl


@triton.jit
def _row_moments_kernel(x_ptr, mean_ptr, var_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        valid = lane < n_cols - start
        x = tl.load(x_ptr + row * n_cols + start + lane, mask=valid, other=0.0)
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / n_cols
    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, tl.sum(squares, axis=0) / n_cols - mean * mean)


def row_moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    var = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    with torch.cuda.device(x.device):
        # A multiply-add would round the two squares differently, and a row of one would give what is left.
        _row_moments_kernel[(x.shape[0],)](x, mean, var, x.shape[1], BLOCK=1024, enable_fp_fusion=False)
    return mean, var
