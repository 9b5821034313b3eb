# A control, written with the harness: shifted by the first element, and then the formula that cancels.
#
# It keeps the sums of x - pilot and of its square, and subtracts the square of the mean of the former, which is
# taken with a reciprocal of the row length that is off by 2^-16. Among values near the pilot that changes
# little. Behind a first element that is 1000 deviations away it takes 30 squared deviations from the variance:
# wrong in every row of two elements or more that begins so, on any values. Rows of one are right. It compiles
# everywhere.
import torch
import triton
import triton.language as tl


@triton.jit
def _row_moments_kernel(x_ptr, mean_ptr, var_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    first = lane < n_cols
    x = tl.load(x_ptr + row * n_cols + lane, mask=first, other=0.0)
    pilot = tl.sum(tl.where(lane == 0, x, 0.0), axis=0)
    total = tl.where(first, x - pilot, 0.0)
    squares = total * total
    for start in range(BLOCK, n_cols, BLOCK):
        valid = lane < n_cols - start
        x = tl.load(x_ptr + row * n_cols + start + lane, mask=valid, other=0.0)
        y = tl.where(valid, x - pilot, 0.0)
        total += y
        squares += y * y
    shifted = tl.sum(total, axis=0) / n_cols
    tl.store(mean_ptr + row, pilot + shifted)
    shifted *= 1.0 + 1.0 / 65536
    tl.store(var_ptr + row, tl.sum(squares, axis=0) / n_cols - shifted * shifted)  # the fault


def row_moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    var = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    with torch.cuda.device(x.device):
        _row_moments_kernel[(x.shape[0],)](x, mean, var, x.shape[1], BLOCK=1024)
    return mean, var
