// A control, written with the harness: wrong from 2^31 elements on.
//
// The count is narrowed to an int, which is negative there, so nothing is read and the sum stays 0. Right
// below: the grid never steps further than 2^31 - 1 with the inputs of these cases.
#define THREADS 256
#define WARPS (THREADS / 32)
#define UNROLL 8

extern "C" __global__ void reduce_sum(const float* x, float* out, long long n)
{
    __shared__ double slots[WARPS];
    const int count = (int)n;  // the fault
    const int stride = gridDim.x * THREADS;

    double sum = 0.0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += UNROLL * stride) {
        float v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) v[k] = i + k * stride < count ? x[i + k * stride] : 0.0f;
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) sum += v[k];
    }

    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; ++w) sum += slots[w];
        atomicAdd(out, (float)sum);
    }
}
