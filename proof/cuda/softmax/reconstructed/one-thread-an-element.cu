// A reconstruction of a published failure, not the output of a model.
//
// It was written after the fact, from the description alone: one thread an element and no loop, so that a row
// of more than 256 columns is neither read nor written beyond its first 256. Nothing is reported: the
// launch succeeds, the sum lacks the rest of the row, and the rest of y keeps what stood there. Everything
// else is meant to be right, the maximum included.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols)
{
    __shared__ float buffer[256];
    const int t = threadIdx.x;
    const long long row = (long long)blockIdx.x * cols;

    const float v = t < cols ? x[row + t] : __int_as_float((int)0xff800000u);
    buffer[t] = v;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) buffer[t] = fmaxf(buffer[t], buffer[t + k]);
        __syncthreads();
    }
    const float highest = buffer[0];
    __syncthreads();

    const float power = expf(v - highest);
    buffer[t] = power;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) buffer[t] += buffer[t + k];
        __syncthreads();
    }
    if (t < cols) y[row + t] = power / buffer[0];
}
