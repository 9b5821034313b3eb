// A control, written with the harness: no architecture compiles it.
//
// It bounds the variance by FLT_MAX, which NVRTC does not declare: the task has no include, and <cfloat> would be
// needed. Else it is the right control. It shows that a compile ground can tell.
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
    const float scale = 1.0f / sqrtf(fminf(block_sum(squares, part) / cols, FLT_MAX) + eps);

    for (int i = threadIdx.x; i < cols; i += THREADS) {
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
    }
}
