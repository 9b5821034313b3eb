// A control, written with the harness: no architecture compiles it.
//
// It names the namespace of cooperative groups, which exists with their header only, and the task has no include.
// Else it is the right control. It shows that a compile ground can tell.
namespace cg = cooperative_groups;

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
        for (int i = begin + lane; i < end; i += 32) {
            sum += values[i];
        }
    }
    for (int d = 16; d > 0; d >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    }
    if (lane == 0) {
        out[row] = sum;
    }
}
