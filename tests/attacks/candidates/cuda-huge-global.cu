// Declares a variable of a terabyte.
__device__ char huge[1ULL << 40];
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    huge[i] = 1;
    if (i < n) out[i] = huge[i];
}
