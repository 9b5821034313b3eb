# A control, written with the harness: right on every case.
#
# The indices are widened to 64 bits, not the strides; the running maximum starts at -FLT_MAX, as the
# CUDA source does; both sides of the tile are masked.
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
    if x.stride(0) < x.stride(1):  # neighbouring rows are the closer ones in memory
        block_c = min(triton.next_power_of_2(max(cols, 1)), 64)
    else:
        block_c = min(triton.next_power_of_2(max(cols, 1)), _TILE)
    block_r = min(triton.next_power_of_2(rows), _TILE // block_c)
    with torch.cuda.device(x.device):
        _row_max_kernel[(triton.cdiv(rows, block_r),)](
            x,
            out,
            rows,
            cols,
            x.stride(0),
            x.stride(1),
            triton.cdiv(cols, block_c),
            LOWEST=_LOWEST,
            BLOCK_R=block_r,
            BLOCK_C=block_c,
        )
    return out
