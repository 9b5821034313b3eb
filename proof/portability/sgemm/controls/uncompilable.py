# A control, written with the harness: no architecture compiles it.
#
# The loop over k is left by `break`, and Triton compiles no `break` ("unsupported AST node type: Break"),
# whatever the architecture and the shape. As plain Python the loop is right, which is how the interpreter
# runs it. So it shows that a compile ground can tell, and that the interpreter is none.
import torch
import triton
import triton.language as tl


@triton.jit
def _sgemm_kernel(a_ptr, b_ptr, c_ptr, m, n, k, n_steps, TILE: tl.constexpr, STEP: tl.constexpr):
    rows = (tl.program_id(1) * TILE + tl.arange(0, TILE))[:, None]
    cols = (tl.program_id(0) * TILE + tl.arange(0, TILE))[None, :]
    depth = tl.arange(0, STEP)
    acc = tl.zeros((TILE, TILE), dtype=tl.float32)
    for step in range(0, n_steps + 1):
        if step == n_steps:
            break
        at = step * STEP + depth
        a = tl.load(a_ptr + rows * k + at[None, :], mask=(rows < m) & (at < k)[None, :], other=0.0)
        b = tl.load(b_ptr + at[:, None] * n + cols, mask=(at < k)[:, None] & (cols < n), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows * n + cols, acc, mask=(rows < m) & (cols < n))


def sgemm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=torch.float32, device=a.device)
    tile, step = 32, 32
    grid = (triton.cdiv(n, tile), triton.cdiv(m, tile))
    with torch.cuda.device(a.device):
        _sgemm_kernel[grid](a, b, c, m, n, k, triton.cdiv(k, step), TILE=tile, STEP=step)
    return c
