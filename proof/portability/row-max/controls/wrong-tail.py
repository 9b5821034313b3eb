# A control, written with the harness: wrong at a tail and nowhere else.
#
# The number of column tiles is rounded down where it has to be rounded up. A tile is never longer than a
# row, so at least one whole tile is always read; the columns after the last whole tile are not. The answer
# is right where the tile divides the row (1x1, 32x32, 5x1, 4096x4096) and wherever the maximum stands before
# the tail. It compiles everywhere: nothing but running it can tell.
import torch
import triton
import triton.language as tl

_LOWEST = torch.finfo(torch.float32).min
_TILE = 4096


@triton.jit
def _row_max_kernel(
    x_ptr,
    out_ptr,
    n_rows,
    n_cols,
    stride_row,
    stride_col,
    n_col_tiles,
    LOWEST: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    row_ok = rows < n_rows
    best = tl.full((BLOCK_R, BLOCK_C), LOWEST, tl.float32)
    for tile in range(0, n_col_tiles):
        cols = tl.arange(0, BLOCK_C).to(tl.int64) + tile * BLOCK_C
        at = rows[:, None] * stride_row + cols[None, :] * stride_col
        mask = row_ok[:, None] & (cols < n_cols)[None, :]
        best = tl.maximum(best, tl.load(x_ptr + at, mask=mask, other=LOWEST))
    tl.store(out_ptr + rows, tl.max(best, axis=1), mask=row_ok)


def row_max(x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    out = torch.empty((rows,), dtype=torch.float32, device=x.device)
    if rows == 0:
        return out
    block_c = min(1 << (cols.bit_length() - 1), _TILE)  # the largest power of two that fits into a row
    block_r = min(triton.next_power_of_2(rows), _TILE // block_c)
    with torch.cuda.device(x.device):
        _row_max_kernel[(triton.cdiv(rows, block_r),)](
            x,
            out,
            rows,
            cols,
            x.stride(0),
            x.stride(1),
            cols // block_c,  # the fault: triton.cdiv would read the tail as well
            LOWEST=_LOWEST,
            BLOCK_R=block_r,
            BLOCK_C=block_c,
        )
    return out
