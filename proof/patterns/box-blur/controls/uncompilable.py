# A control, written with the harness: no architecture compiles it.
#
# The loop over the window's rows is left by `break`, and Triton compiles no `break` ("unsupported AST node
# type: Break"), whatever the architecture, the shape and the strides. As plain Python the loop is right,
# which is how the interpreter runs it. So it shows that a compile ground can tell, and that the interpreter
# is none.
import torch
import triton
import triton.language as tl


@triton.jit
def _box_blur_kernel(
    x_ptr, out_ptr, n_pixels, height, width, stride_b, stride_h, stride_w, BLOCK: tl.constexpr
):
    pixel = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < n_pixels
    col = pixel % width
    row = (pixel // width) % height
    image = pixel // width // height
    total = tl.zeros([BLOCK], dtype=tl.float32)
    count = tl.zeros([BLOCK], dtype=tl.float32)
    for dr in range(-1, 3):
        if dr == 2:
            break
        for dc in tl.static_range(-1, 2):
            r = row + dr
            c = col + dc
            ok = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)
            at = image * stride_b + r * stride_h + c * stride_w
            total += tl.load(x_ptr + at, mask=ok, other=0.0)
            count += ok.to(tl.float32)
    tl.store(out_ptr + pixel, total / tl.maximum(count, 1.0), mask=inside)


def box_blur(x: torch.Tensor) -> torch.Tensor:
    batch, height, width = x.shape
    out = torch.empty((batch, height, width), dtype=torch.float32, device=x.device)
    n = batch * height * width
    if n == 0:
        return out
    with torch.cuda.device(x.device):
        _box_blur_kernel[(triton.cdiv(n, 1024),)](
            x, out, n, height, width, x.stride(0), x.stride(1), x.stride(2), BLOCK=1024
        )
    return out
