// A control, written with the harness: wrong where 256 does not divide the columns.
//
// The row is padded with zeros to whole strides of the block, and the padding is not left out of the second sum:
// each padded column adds mean^2 to the squares. Right where 256 divides the columns, and for one column, whose y is
// beta whatever the variance. (The first sum does not mind a zero, and both are divided by cols.)
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
    const int padded = (cols + THREADS - 1) / THREADS * THREADS;
    for (int i = threadIdx.x; i < padded; i += THREADS) {
        const float d = (i < cols ? x[i] : 0.0f) - mean;
        squares += d * d;
    }
    const float scale = 1.0f / sqrtf(block_sum(squares, part) / cols + eps);

    for (int i = threadIdx.x; i < cols; i += THREADS) {
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
    }
}
