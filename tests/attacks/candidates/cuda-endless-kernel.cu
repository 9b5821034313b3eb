// A kernel that never ends.
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    // A loop without an effect may be taken for one that ends; a volatile asm is an effect.
    for (;;) asm volatile("nanosleep.u32 1000;");
}
