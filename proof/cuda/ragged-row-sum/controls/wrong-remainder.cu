// A control, written with the harness: wrong where a row has more than 32 values and 32 does not divide them.
//
// All lanes take the same number of steps, so that no warp diverges, but the number is rounded down: the last
// length % 32 values are never read. Rows shorter than a warp have a branch of their own and are right, as are
// rows of 32, 64, 96, 128 and 500,000 values.
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
    if (on) {
        const int steps = (end - begin) / 32;
        for (int step = 0; step < steps; ++step) {
            sum += values[begin + step * 32 + lane];
        }
        if (steps == 0 && begin + lane < end) {
            sum += values[begin + lane];
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    }
    if (lane == 0) {
        out[row] = sum;
    }
}
