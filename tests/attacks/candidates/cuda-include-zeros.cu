// Includes a file that has no end.
#include "/dev/zero"
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    out[0] = 0;
}
