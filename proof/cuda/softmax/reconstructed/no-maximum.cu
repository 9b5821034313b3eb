// A reconstruction of a published failure, not the output of a model.
//
// It was written after the fact, from the description alone: the exponentials are taken without subtracting
// the row's maximum. expf overflows from 88.73 on, so around 500 every element is inf / inf, which is NaN; around
// -10000 every exponential is 0 and every element 0 / 0, NaN again. Everything else is meant to be right, the loop
// over the row included.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols)
{
    __shared__ float buffer[256];
    const int t = threadIdx.x;
    const long long row = (long long)blockIdx.x * cols;

    float sum = 0.0f;
    for (int c = t; c < cols; c += 256) sum += expf(x[row + c]);
    buffer[t] = sum;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) buffer[t] += buffer[t + k];
        __syncthreads();
    }
    for (int c = t; c < cols; c += 256) y[row + c] = expf(x[row + c]) / buffer[0];
}
