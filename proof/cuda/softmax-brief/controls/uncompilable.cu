// A control, written with the harness: no architecture compiles it.
//
// It starts the maximum at -FLT_MAX, which <float.h> defines. Compiled by nvcc, which includes the CUDA runtime's
// headers, it would be right; NVRTC, as the task says, is given one source without any include, and knows no
// FLT_MAX, nor INFINITY. So it shows that a compile ground can tell.
#define THREADS 256
#define WARPS (THREADS / 32)
#define LOWEST (-FLT_MAX)

__device__ float block_max(float v, float* slots)
{
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
    __syncthreads();
    v = slots[0];
    for (int w = 1; w < WARPS; ++w) v = fmaxf(v, slots[w]);
    return v;
}

__device__ float block_sum(float v, float* slots)
{
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
    __syncthreads();
    v = slots[0];
    for (int w = 1; w < WARPS; ++w) v += slots[w];
    return v;
}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols)
{
    __shared__ float maxima[WARPS];
    __shared__ float sums[WARPS];
    const long long row = (long long)blockIdx.x * cols;

    float highest = LOWEST;
    for (int c = threadIdx.x; c < cols; c += THREADS) highest = fmaxf(highest, x[row + c]);
    highest = block_max(highest, maxima);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += expf(x[row + c] - highest);
    sum = block_sum(sum, sums);

    for (int c = threadIdx.x; c < cols; c += THREADS) y[row + c] = expf(x[row + c] - highest) / sum;
}
