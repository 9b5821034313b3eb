// A control, written with the harness: no architecture compiles it.
//
// It counts in int64_t, which <cstdint> defines. NVRTC, as the task says, is given one source without any include,
// and knows no int64_t. With long long in its place it is right. So it shows that a compile ground can tell.
#define THREADS 256
#define WARPS (THREADS / 32)
#define UNROLL 8

extern "C" __global__ void reduce_sum(const float* x, float* out, int64_t n)
{
    __shared__ double slots[WARPS];
    const int64_t stride = (int64_t)gridDim.x * THREADS;

    double sum = 0.0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += UNROLL * stride) {
        float v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) v[k] = i + k * stride < n ? x[i + k * stride] : 0.0f;
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
