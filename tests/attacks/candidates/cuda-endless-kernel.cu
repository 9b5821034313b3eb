// A kernel that never ends.
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    volatile int again = 1;
    while (again) { }
    out[0] = again;
}
