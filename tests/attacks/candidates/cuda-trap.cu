// Ends its context by a trap, in one case; the others must not suffer.
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n == 128) asm("trap;");
    if (i < n) out[i] = 2.0f * x[i] + y[i];
}
