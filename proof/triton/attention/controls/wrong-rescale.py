# A control, written with the harness: wrong where a later tile of keys raises the maximum, and nowhere
# else.
#
# The sum is scaled to the new maximum, the accumulator is not. Up to 65 keys are one tile, which is right; so it
# is wherever the first tile holds the maximum. With more keys a tile has 32, so that some of many later keys raises
# it on any values; a single key behind the first tile would do so by chance. It compiles everywhere: nothing but
# running it can tell.
import torch
import triton
import triton.language as tl

_LOG2E = 1.4426950408889634


@triton.jit
def _attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    q_b,
    q_h,
    q_m,
    q_d,
    k_b,
    k_h,
    k_n,
    k_d,
    v_b,
    v_h,
    v_n,
    v_d,
    heads,
    group,
    seq_q,
    seq_kv,
    scale,
    CAUSAL: tl.constexpr,
    DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    tiles = tl.cdiv(seq_q, BLOCK_M)
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    first = (tl.program_id(0) % tiles) * BLOCK_M
    b, h = bh // heads, bh % heads
    rows = (first + tl.arange(0, BLOCK_M)).to(tl.int64)
    lanes = tl.arange(0, BLOCK_N).to(tl.int64)
    d = tl.arange(0, BLOCK_D).to(tl.int64)
    q_ok = (rows < seq_q)[:, None] & (d < DIM)[None, :]
    q = tl.load(q_ptr + b * q_b + h * q_h + rows[:, None] * q_m + d[None, :] * q_d, mask=q_ok, other=0.0)
    k_ptr += b * k_b + (h // group) * k_h
    v_ptr += b * v_b + (h // group) * v_h
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    offset = seq_kv - seq_q
    end = seq_kv
    if CAUSAL:
        end = tl.maximum(tl.minimum(seq_kv, first + BLOCK_M + offset), 0)
    for start in range(0, end, BLOCK_N):
        keys = start + lanes
        k_ok = (keys < seq_kv)[None, :] & (d < DIM)[:, None]
        v_ok = (keys < seq_kv)[:, None] & (d < DIM)[None, :]
        k = tl.load(k_ptr + keys[None, :] * k_n + d[:, None] * k_d, mask=k_ok, other=0.0)
        v = tl.load(v_ptr + keys[:, None] * v_n + d[None, :] * v_d, mask=v_ok, other=0.0)
        seen = (keys < seq_kv)[None, :] & (rows < seq_q)[:, None]
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None] + offset)
        s = tl.where(seen, tl.dot(q, k) * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        shift = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp2(m - shift)
        p = tl.exp2(s - shift[:, None])
        total = total * alpha + tl.sum(p, 1)
        # The fault: acc is relative to the old maximum.
        acc = acc + tl.dot(p.to(tl.float16), v)
        m = m_new
    acc = acc / tl.where(total == 0.0, 1.0, total)[:, None]
    out = out_ptr + (bh * seq_q + rows)[:, None] * DIM + d[None, :]
    tl.store(out, acc.to(tl.float16), mask=q_ok)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    batch, heads, seq_q, dim = q.shape
    heads_kv, seq_kv = k.shape[1:3]
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    block_d = max(16, triton.next_power_of_2(dim))
    with torch.cuda.device(q.device):
        _attention_kernel[(batch * heads * triton.cdiv(seq_q, 32),)](
            q,
            k,
            v,
            out,
            *q.stride(),
            *k.stride(),
            *v.stride(),
            heads,
            heads // heads_kv,
            seq_q,
            seq_kv,
            _LOG2E * dim**-0.5,
            CAUSAL=bool(causal),
            DIM=dim,
            BLOCK_M=32,
            BLOCK_N=32 if seq_kv > 65 else 128,
            BLOCK_D=block_d,
            num_warps=4,
            num_stages=2,
        )
    return out
