// Makes the compiler write machine code with a gibibyte of data in it.
__device__ int huge[1 << 28] = {1};
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i] + y[i] + 0.0f * huge[i];
}
