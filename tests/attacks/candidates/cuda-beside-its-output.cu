// Writes one element beyond its output, where nothing of it may lie.
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i] + y[i];
    if (i == 0) out[n] = 1.0f;
}
