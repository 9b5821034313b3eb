// A control, written with the harness: wrong where a thread has two elements or more left at the end.
//
// The unrolled loop takes eight elements a turn, without asking for the end; what is left for a thread, up
// to seven, is taken by an `if` where it has to be taken by a loop. Right where no thread has more than one
// left: whenever the grid covers the input, and by chance elsewhere.
#define THREADS 256
#define WARPS (THREADS / 32)
#define UNROLL 8

extern "C" __global__ void reduce_sum(const float* x, float* out, long long n)
{
    __shared__ double slots[WARPS];
    const long long stride = (long long)gridDim.x * THREADS;

    double sum = 0.0;
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    for (; i + (UNROLL - 1) * stride < n; i += UNROLL * stride) {
        float v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) v[k] = x[i + k * stride];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) sum += v[k];
    }
    if (i < n) sum += x[i];  // the fault: `for (; i < n; i += stride)`

    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; ++w) sum += slots[w];
        atomicAdd(out, (float)sum);
    }
}
