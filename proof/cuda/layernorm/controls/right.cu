// A control, written with the harness: right on every case.
//
// Two passes and nothing else: the mean, then the mean of the squared differences from it, each summed by 256
// threads in float32. The mean is one float32 and is not corrected afterwards, so this is the plainest algorithm
// that the tolerance has to admit.
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

    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        sum += x[i];
    }
    const float mean = block_sum(sum, part) / cols;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) {
        const float d = x[i] - mean;
        squares += d * d;
    }
    const float scale = 1.0f / sqrtf(block_sum(squares, part) / cols + eps);

    for (int i = threadIdx.x; i < cols; i += THREADS) {
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
    }
}
