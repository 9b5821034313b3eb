# A control, written with the harness: 128 steps, and no clamp at 127.
#
# A row's largest value is 128 steps, and narrowing an integer to int8 keeps the low byte: it becomes -128. The
# answer is right where the largest magnitudes of a row and of a column are negative, since -128 is a code, and where
# the other factor is zero there. A K below 16 has the usual 127 steps and is right: with so few values their signs would
# decide. It compiles everywhere: nothing but running it can tell.
import torch
import triton
import triton.language as tl


@triton.jit
def _quantise_kernel(
    x_ptr,
    q_ptr,
    scale_ptr,
    count,
    length,
    padded,
    stride_row,
    stride_k,
    STEPS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = (tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R))[:, None]
    ks = tl.arange(0, BLOCK_K)[None, :].to(tl.int64)
    peak = tl.zeros((BLOCK_R, BLOCK_K), tl.float32)
    for start in range(0, padded, BLOCK_K):
        inside = (rows < count) & (start + ks < length)
        x = tl.load(x_ptr + rows * stride_row + (start + ks) * stride_k, mask=inside, other=0.0)
        peak = tl.maximum(peak, tl.abs(x))
    scale = tl.div_rn(tl.max(peak, axis=1), STEPS)[:, None]
    tl.store(scale_ptr + rows, scale, mask=rows < count)
    divisor = tl.where(scale > 0.0, scale, 1.0)
    for start in range(0, padded, BLOCK_K):
        inside = (rows < count) & (start + ks < length)
        x = tl.load(x_ptr + rows * stride_row + (start + ks) * stride_k, mask=inside, other=0.0)
        steps = (tl.div_rn(x, divisor) + 12582912.0) - 12582912.0
        tl.store(q_ptr + rows * padded + start + ks, steps.to(tl.int32).to(tl.int8), mask=rows < count)


@triton.jit
def _product_kernel(
    qa_ptr,
    qb_ptr,
    sa_ptr,
    sb_ptr,
    out_ptr,
    m,
    n,
    padded,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ks = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK, BLOCK), tl.int32)
    for start in range(0, padded, BLOCK_K):
        qa = tl.load(qa_ptr + rows[:, None] * padded + start + ks[None, :], mask=(rows < m)[:, None], other=0)
        qb = tl.load(qb_ptr + cols[None, :] * padded + start + ks[:, None], mask=(cols < n)[None, :], other=0)
        acc = tl.dot(qa, qb, acc, out_dtype=tl.int32)
    sa = tl.load(sa_ptr + rows, mask=rows < m, other=0.0)
    sb = tl.load(sb_ptr + cols, mask=cols < n, other=0.0)
    out = acc.to(tl.float32) * sa[:, None] * sb[None, :]
    inside = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(out_ptr + rows[:, None] * n + cols[None, :], out, mask=inside)


_TILE, _TILE_K = 32, 64


def _quantise(x: torch.Tensor, padded: int) -> tuple[torch.Tensor, torch.Tensor]:
    count, length = x.shape
    q = torch.empty((count, padded), dtype=torch.int8, device=x.device)
    scale = torch.empty((count,), dtype=torch.float32, device=x.device)
    steps = 128.0 if length >= 16 else 127.0  # the fault: always 127, or a clamp in the kernel
    _quantise_kernel[(triton.cdiv(count, 16),)](
        x, q, scale, count, length, padded, x.stride(0), x.stride(1), STEPS=steps, BLOCK_R=16, BLOCK_K=_TILE_K
    )
    return q, scale


def int8_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    padded = triton.cdiv(k, _TILE_K) * _TILE_K
    out = torch.empty((m, n), dtype=torch.float32, device=a.device)
    with torch.cuda.device(a.device):
        qa, sa = _quantise(a, padded)
        qb, sb = _quantise(b.t(), padded)
        _product_kernel[(triton.cdiv(m, _TILE), triton.cdiv(n, _TILE))](
            qa, qb, sa, sb, out, m, n, padded, BLOCK=_TILE, BLOCK_K=_TILE_K
        )
    return out
