// A control, written with the harness: no architecture compiles it.
//
// It counts with uint32_t, which NVRTC does not declare: the task has no include, and <cstdint> would be needed.
// Else it is the right control. It shows that a compile ground can tell.
#define TILE 32

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE + 1];
    __shared__ float bs[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};

    const uint32_t slabs = (k - 1) / TILE + 1;
    for (uint32_t slab = 0; slab < slabs; ++slab) {
        const int k0 = slab * TILE;
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 2; ++j) {
                const int y = ty + 16 * i, x = tx + 16 * j;
                const bool in_a = row0 + y < m && k0 + x < k;
                const bool in_b = k0 + y < k && col0 + x < n;
                as[y][x] = in_a ? a[(long long)(row0 + y) * k + k0 + x] : 0.0f;
                bs[y][x] = in_b ? b[(long long)(k0 + y) * n + col0 + x] : 0.0f;
            }
        }
        __syncthreads();
        for (int p = 0; p < TILE; ++p) {
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) {
                    sum[i][j] = fmaf(as[ty + 16 * i][p], bs[p][tx + 16 * j], sum[i][j]);
                }
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            const int row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
            if (row < m && col < n) {
                c[(long long)row * n + col] = sum[i][j];
            }
        }
    }
}
