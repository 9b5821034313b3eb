# A control, written with the harness: wrong where a row begins with a whole tile of -inf, and nowhere else.
#
# The maximum is guarded after the loop but not in it, so such a tile gives -inf - -inf = NaN, and the sum
# stays NaN. A row of only -inf is met by a test of its own and gives zeros; a row that fits into one tile
# is right. It compiles everywhere: nothing but running it can tell.
import torch
import triton
import triton.language as tl

_TILE = 4096


@triton.jit
def _softmax_kernel(x_ptr, out_ptr, n_cols, stride_row, stride_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    m = tl.full((1,), float("-inf"), tl.float32)
    total = tl.zeros((1,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        at = x_ptr + row * stride_row + cols * stride_col
        x = tl.load(at, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        shift = m_new  # the fault
        total = total * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m = m_new
    shift = tl.where(m == float("-inf"), 0.0, m)
    total = tl.where(total == 0.0, 1.0, total)
    for start in range(0, n_cols, BLOCK):
        cols = start + lanes
        at = x_ptr + row * stride_row + cols * stride_col
        x = tl.load(at, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        y = tl.where(m == float("-inf"), 0.0, tl.exp(x - shift) / total)
        tl.store(out_ptr + row * n_cols + cols, y.to(out_ptr.dtype.element_ty), mask=cols < n_cols)


def softmax(x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    out = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    if rows == 0 or cols == 0:
        return out
    block = min(triton.next_power_of_2(cols), _TILE)
    with torch.cuda.device(x.device):
        _softmax_kernel[(rows,)](x, out, cols, x.stride(0), x.stride(1), BLOCK=block, num_warps=4)
    return out
