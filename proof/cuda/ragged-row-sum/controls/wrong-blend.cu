// A control, written with the harness: wrong where an inactive row holds NaN or an infinity.
//
// It avoids the branch: it sums every row, and multiplies the sum by 1 or by 0. Right wherever an inactive row
// holds finite values, or none; 0 * NaN and 0 * inf are NaN.
extern "C" __global__ void ragged_row_sum(const float* values, const int* offsets,
                                          const unsigned char* active, float* out, int rows)
{
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const int begin = offsets[row], end = offsets[row + 1];
    const bool on = active[row] != 0;

    float sum = 0.0f;
    for (int i = begin + lane; i < end; i += 32) {
        sum += values[i];
    }
    for (int d = 16; d > 0; d >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    }
    if (lane == 0) {
        out[row] = sum * (on ? 1.0f : 0.0f);
    }
}
