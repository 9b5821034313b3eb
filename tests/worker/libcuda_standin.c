/* A driver that says what it was asked. cuda.bindings finds each function through cuGetProcAddress. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY(...) (printf(__VA_ARGS__), printf("\n"), fflush(stdout))

int cuInit(unsigned flags) { SAY("cuInit"); return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *)0x11; return 0; }
int cuCtxGetDevice(int *device) { *device = 3; return 0; }
int cuCtxCreate_v2(void **context, unsigned flags, int device) { SAY("cuCtxCreate"); return 1; }
int cuDevicePrimaryCtxRetain(void **context, int device) { SAY("cuDevicePrimaryCtxRetain"); return 1; }
int cuCtxSetCurrent(void *context) { SAY("cuCtxSetCurrent"); return 1; }

int cuGetErrorName(int code, const char **text)
{
    *text = code == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" : code ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_SUCCESS";
    return 0;
}

int cuGetErrorString(int code, const char **text)
{
    *text = code == 701 ? "too many resources requested for launch" : "invalid argument";
    return 0;
}

int cuLibraryLoadData(void **library, const char *code, void *a, void *b, unsigned c, void *d, void *e, unsigned f)
{
    SAY("load %s", code);
    *library = (void *)0x22;
    return 0;
}

int cuLibraryUnload(void *library) { return 0; }

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    SAY("kernel %s", name);
    *kernel = (void *)0x33;
    return strcmp(name, "missing") ? 0 : 1;
}

int cuKernelSetAttribute(int attribute, int value, void *kernel, int device)
{
    SAY("attribute %d %d of %p on %d", attribute, value, kernel, device);
    return value > 227 << 10;
}

struct config {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned count;
};

/* The sizes of the kernel's parameters are those of (unsigned long long, long long, float, double). */
int cuLaunchKernelEx(const struct config *c, void *kernel, unsigned char **parameters, void **extra)
{
    static const int sizes[] = {8, 8, 4, 8};
    printf("launch %p %u %u %u %u %u %u shared %u stream %p attributes %u", kernel, c->grid[0], c->grid[1], c->grid[2],
           c->block[0], c->block[1], c->block[2], c->shared, c->stream, c->count);
    for (int i = 0; parameters && i < 4; i++) {
        printf(" ");
        for (int byte = 0; byte < sizes[i]; byte++)
            printf("%02x", parameters[i][byte]);
    }
    SAY("");
    return c->grid[0] == 701 ? 701 : c->grid[0] == 1024 ? 1 : 0;
}

int cuLaunchKernel(void *kernel, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                   unsigned shared, void *stream, unsigned char **parameters, void **extra)
{
    struct config config = {{a, b, c}, {d, e, f}, shared, stream, 0, 0};
    return cuLaunchKernelEx(&config, kernel, parameters, extra);
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    *function = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    if (status)
        *status = *function ? 0 : 1;
    return *function ? 0 : 500;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, 0);
}
