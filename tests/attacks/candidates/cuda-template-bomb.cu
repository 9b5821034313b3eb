// Makes the compiler instantiate 2^60 templates.
template <int depth, unsigned long long path> struct Node {
    static constexpr int value = Node<depth - 1, 2 * path>::value + Node<depth - 1, 2 * path + 1>::value;
};
template <unsigned long long path> struct Node<0, path> { static constexpr int value = 1; };
extern "C" __global__ void affine(const float* x, const float* y, float* out, int n)
{
    out[0] = Node<60, 0>::value;
}
