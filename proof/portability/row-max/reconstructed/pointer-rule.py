# A reconstruction of a published failure, not the output of a model.
#
# It was written after the fact, to show what becomes of a port that follows the pointer rule of
# port-cuda-kernel-to-triton 0.1.0 to the letter: "Promote the stride and size scalar arguments to 64-bit
# inside the kernel before multiplying: `stride_row = stride_row.to(tl.int64)` and
# `stride_col = stride_col.to(tl.int64)`, then form `rows * stride_row + cols * stride_col`." The two
# assignments and the sum stand below as the rule spells them. The sizes are not multiplied with
# anything here, so they are left as they are. Everything else is meant to be right.
"""Row-wise maximum of a 2-D float32 tensor: a Triton port of the CUDA kernel row_max."""

import torch
import triton
import triton.language as tl

_LOWEST = torch.finfo(torch.float32).min  # -FLT_MAX, where the CUDA kernel starts
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
    # Inputs may have more than 2^31 elements, so offsets are computed in 64 bits.
    stride_row = stride_row.to(tl.int64)
    stride_col = stride_col.to(tl.int64)

    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    row_ok = rows < n_rows

    best = tl.full((BLOCK_R, BLOCK_C), LOWEST, tl.float32)
    for tile in range(0, n_col_tiles):
        cols = tile * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
        x = tl.load(
            x_ptr + (rows * stride_row + cols * stride_col),
            mask=row_ok & (cols < n_cols),
            other=LOWEST,
        )
        best = tl.maximum(best, x)

    # The shuffles and the shared array of the CUDA kernel: one reduction over the tile.
    out_rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    tl.store(out_ptr + out_rows, tl.max(best, axis=1), mask=out_rows < n_rows)


def row_max(x: torch.Tensor) -> torch.Tensor:
    """The maximum of each row of a 2-D float32 GPU tensor with any strides."""
    if x.dim() != 2 or x.dtype != torch.float32 or not x.is_cuda:
        raise ValueError("row_max takes a 2-D float32 tensor on the GPU")
    rows, cols = x.shape
    out = torch.empty((rows,), dtype=torch.float32, device=x.device)
    if rows == 0:
        return out

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
