# A control, written with the harness: no architecture compiles it.
#
# The loop over the blocks is left by `break`, and Triton compiles no `break` ("unsupported AST node type:
# Break"), whatever the architecture and the shape. As plain Python the loop is right, which is how the
# interpreter runs it. So it shows that a compile ground can tell, and that the interpreter is none.
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
    mean = tl.where(first, x - pilot, 0.0)
    m2 = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(BLOCK, n_cols + BLOCK, BLOCK):
        if start >= n_cols:
            break
        valid = lane < n_cols - start
        x = tl.load(x_ptr + row * n_cols + start + lane, mask=valid, other=0.0)
        delta = tl.where(valid, (x - pilot) - mean, 0.0)
        weight = 1.0 / (start // BLOCK + 1)
        mean += delta * weight
        m2 += delta * delta * (1.0 - weight)
    count = ((n_cols - lane + BLOCK - 1) // BLOCK).to(tl.float32)
    shifted = tl.sum(count * mean, axis=0) / n_cols
    deviation = mean - shifted
    tl.store(mean_ptr + row, pilot + shifted)
    tl.store(var_ptr + row, tl.sum(m2 + count * deviation * deviation, axis=0) / n_cols)


def row_moments(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    var = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    with torch.cuda.device(x.device):
        _row_moments_kernel[(x.shape[0],)](x, mean, var, x.shape[1], BLOCK=1024)
    return mean, var
