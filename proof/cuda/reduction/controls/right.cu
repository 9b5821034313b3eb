// A control, written with the harness: right on every case.
//
// Each thread strides through the whole input, eight elements a turn so that enough loads are in flight, and
// adds in float64; so does the block. One float32 atomicAdd a block puts it together. Indices are 64 bits wide.
#define THREADS 256
#define WARPS (THREADS / 32)
#define UNROLL 8

extern "C" __global__ void reduce_sum(const float* x, float* out, long long n)
{
    __shared__ double slots[WARPS];
    const long long stride = (long long)gridDim.x * THREADS;

    double sum = 0.0;
    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < n; i += UNROLL * stride) {
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
