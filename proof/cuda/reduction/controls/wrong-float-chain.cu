// A control, written with the harness: wrong where a thread adds very many elements of one sign.
//
// Each thread keeps one float32 sum. While it lies between 2^k and 2^(k + 1), every addition rounds it to a multiple of
// 2^(k - 23), and equal elements all round the same way: once the sum is beyond 2^16, 0.1 counts as 13/128,
// 1.6 % too much. Right while a thread has few elements, and where the sums are whole numbers below 2^24.
#define THREADS 256
#define WARPS (THREADS / 32)
#define UNROLL 8

extern "C" __global__ void reduce_sum(const float* x, float* out, long long n)
{
    __shared__ float slots[WARPS];
    const long long stride = (long long)gridDim.x * THREADS;

    float sum = 0.0f;  // the fault
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
        atomicAdd(out, sum);
    }
}
