// Writes to an address that is nobody's, in one case; the others must not suffer.
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[n == 128 ? i + (1LL << 40) : i] = 2.0f * x[i] + y[i];
}
