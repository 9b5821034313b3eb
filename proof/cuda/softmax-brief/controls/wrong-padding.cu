// A control, written with the harness: wrong where 256 does not divide the columns and zero is not too low.
//
// Lanes without an element take part in the maximum and the sum as if their element were 0, not -inf. Around 500
// that changes nothing: 0 is no maximum there, and exp(0 - 500) is 0. Around 0 it adds exp(-maximum) to
// the sum for each such lane. Around -10000 the maximum becomes 0, every exponential 0, and every answer 0.
// Where 256 divides the columns there is no such lane.
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

    const int padded = (cols + THREADS - 1) / THREADS * THREADS;
    float highest = LOWEST;
    for (int c = threadIdx.x; c < padded; c += THREADS)
        highest = fmaxf(highest, c < cols ? x[row + c] : 0.0f);  // the fault: -inf changes no maximum, 0 does
    highest = block_max(highest, maxima);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < padded; c += THREADS)
        sum += expf((c < cols ? x[row + c] : 0.0f) - highest);
    sum = block_sum(sum, sums);

    for (int c = threadIdx.x; c < cols; c += THREADS) y[row + c] = expf(x[row + c] - highest) / sum;
}
