// A control, written with the harness: wrong where the mean is large beside the deviation.
//
// The variance is E[x^2] - E[x]^2, in one pass. Both are rounded to float32 before they are subtracted, so at a
// mean of 1000 the difference is off by 0.06 or more: a good part of a variance of 1, and all of one of 0.01.
// A negative variance is taken for 0, which hides the NaN. At a mean of 0 it is right but for rows of two columns,
// whose values can lie closer to each other than to 0.
#define THREADS 256

__device__ float block_sum(float v, float* part)
{
    for (int d = 16; d > 0; d >>= 1) {
        v += __shfl_down_sync(0xffffffffu, v, d);
    }
    __syncthreads();  // whoever still reads the sum before has to be done
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = v;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) {
        sum += part[w];
    }
    return sum;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta,
                                     float* y, int rows, int cols, float eps)
{
    __shared__ float part[THREADS / 32];
    const long long start = (long long)blockIdx.x * cols;
    x += start;
    y += start;

    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    const float mean = block_sum(sum, part) / cols;

    const float variance = block_sum(squares, part) / cols - mean * mean;
    const float scale = 1.0f / sqrtf(fmaxf(variance, 0.0f) + eps);

    for (int i = threadIdx.x; i < cols; i += THREADS) {
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
    }
}
