# A control, written with the harness: the image is the third dimension of the grid.
#
# A device launches at most 65,535 blocks in the second and third dimensions, so a batch of 70,000 cannot be
# launched. Everything smaller is right. The interpreter loops over any grid; the compile grounds launch
# nothing, but refuse a grid that no device would take.
import torch
import triton
import triton.language as tl


@triton.jit
def _box_blur_kernel(x_ptr, out_ptr, height, width, stride_b, stride_h, stride_w, BLOCK: tl.constexpr):
    image = tl.program_id(2).to(tl.int64)
    pixel = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < height * width
    row = pixel // width
    col = pixel % width
    total = tl.zeros([BLOCK], dtype=tl.float32)
    count = tl.zeros([BLOCK], dtype=tl.float32)
    for dr in tl.static_range(-1, 2):
        for dc in tl.static_range(-1, 2):
            r = row + dr
            c = col + dc
            ok = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)
            at = image * stride_b + r * stride_h + c * stride_w
            total += tl.load(x_ptr + at, mask=ok, other=0.0)
            count += ok.to(tl.float32)
    tl.store(out_ptr + image * height * width + pixel, total / tl.maximum(count, 1.0), mask=inside)


def box_blur(x: torch.Tensor) -> torch.Tensor:
    batch, height, width = x.shape
    out = torch.empty((batch, height, width), dtype=torch.float32, device=x.device)
    if out.numel() == 0:
        return out
    grid = (triton.cdiv(height * width, 128), 1, batch)  # the fault: the third dimension ends at 65,535
    with torch.cuda.device(x.device):
        _box_blur_kernel[grid](x, out, height, width, x.stride(0), x.stride(1), x.stride(2), BLOCK=128)
    return out
