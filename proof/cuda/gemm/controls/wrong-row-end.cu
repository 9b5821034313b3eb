// A control, written with the harness: wrong where an infinity stands near, and nowhere else.
//
// In the last slab of k it reads a beyond the end of its row, into the row below, and trusts the zeros that b
// has there to cancel what it read. So they do for every finite value: 0 * x is 0. Where the row below begins
// with an infinity, 0 * inf is NaN, in a row whose own values are all finite. It reads nothing outside a. Where
// 32 divides k there is no tail, and it is right. (The offset beyond which it may not read is that of the
// whole matrix, not of the row.)
#define TILE 32

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE + 1];
    __shared__ float bs[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};

    const int slabs = (k - 1) / TILE + 1;
    for (int slab = 0; slab < slabs; ++slab) {
        const int k0 = slab * TILE;
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 2; ++j) {
                const int y = ty + 16 * i, x = tx + 16 * j;
                const bool in_a = (long long)(row0 + y) * k + k0 + x < (long long)m * k;
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
