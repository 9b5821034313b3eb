// A control, written with the harness: wrong where the first 256 columns do not tell the row's maximum.
//
// Each thread takes the maximum of its first column alone. A softmax does not change with what is
// subtracted, so the answer is right for every length of row as long as nothing overflows: with all values
// near each other, wherever they lie (normal, around 500, around -10000). In a row of more than 256
// columns with a value 88 above the first 256 the exponential is infinite and the answer NaN.
#define THREADS 256
#define WARPS (THREADS / 32)
#define LOWEST (__int_as_float((int)0xff800000u))

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
    if (threadIdx.x < cols) highest = x[row + threadIdx.x];  // the fault: no loop over the row
    highest = block_max(highest, maxima);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += expf(x[row + c] - highest);
    sum = block_sum(sum, sums);

    for (int c = threadIdx.x; c < cols; c += THREADS) y[row + c] = expf(x[row + c] - highest) / sum;
}
