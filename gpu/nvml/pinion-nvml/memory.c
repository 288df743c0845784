//go:build cgo

// The functions of CUDA's driver are looked up at run time, as go-nvml does with those of NVML: the program has to start without a driver. Their
// types are those of cuda.h, which says that they are stable: https://docs.nvidia.com/cuda/cuda-driver-api/
#include "memory.h"

#include <dlfcn.h>
#include <stddef.h>

typedef unsigned long long address;

enum { max_chunks = 4096, threads = 256, blocks = 4096 };
static const size_t chunk = (size_t)256 << 20, reserve = (size_t)512 << 20;

static struct {
	int (*init)(unsigned int);
	int (*device)(int *, int);
	int (*context)(void **, unsigned int, int);
	int (*destroy)(void *);
	int (*info)(size_t *, size_t *);
	int (*alloc)(address *, size_t);
	int (*set)(address, unsigned int, size_t);
	int (*copy)(void *, address, size_t);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*synchronize)(void);
} cuda;

// look_up finds the functions. It returns the name of the first that is missing, or NULL.
static const char *look_up(void) {
	static const struct { const char *name; void *at; } functions[] = {
		{"cuInit", &cuda.init}, {"cuDeviceGet", &cuda.device}, {"cuCtxCreate_v2", &cuda.context}, {"cuCtxDestroy_v2", &cuda.destroy},
		{"cuMemGetInfo_v2", &cuda.info}, {"cuMemAlloc_v2", &cuda.alloc}, {"cuMemsetD32_v2", &cuda.set}, {"cuMemcpyDtoH_v2", &cuda.copy},
		{"cuModuleLoadData", &cuda.load}, {"cuModuleGetFunction", &cuda.function}, {"cuLaunchKernel", &cuda.launch},
		{"cuCtxSynchronize", &cuda.synchronize},
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) {
		return "libcuda.so.1";
	}
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *found = dlsym(library, functions[i].name);
		if (!found) {
			return functions[i].name;
		}
		*(void **)functions[i].at = found;
	}
	return NULL;
}

#define CALL(name, call)                    \
	do {                                    \
		if ((result->code = (call))) {      \
			result->failed_call = name;     \
			return;                         \
		}                                   \
	} while (0)

// test_chunks is the test in a context of CUDA, whose end frees the memory.
static void test_chunks(const char *ptx, unsigned int pattern, struct memory_test *result) {
	static address chunks[max_chunks];
	void *module, *verify;
	address errors;
	size_t available, total, count = 0;
	unsigned long long words = chunk / sizeof pattern, found = 0;

	CALL("cuModuleLoadData", cuda.load(&module, ptx));
	CALL("cuModuleGetFunction", cuda.function(&verify, module, "verify"));
	CALL("cuMemAlloc", cuda.alloc(&errors, sizeof found));
	CALL("cuMemsetD32", cuda.set(errors, 0, sizeof found / sizeof pattern));
	CALL("cuMemGetInfo", cuda.info(&available, &total));
	while (count < max_chunks && available > reserve + chunk && cuda.alloc(&chunks[count], chunk) == 0) {
		CALL("cuMemsetD32", cuda.set(chunks[count], pattern, words));
		count++;
		available -= chunk;
	}
	for (size_t i = 0; i < count; i++) {
		void *arguments[] = {&chunks[i], &words, &pattern, &errors};
		CALL("cuLaunchKernel", cuda.launch(verify, blocks, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL));
	}
	CALL("cuCtxSynchronize", cuda.synchronize());
	CALL("cuMemcpyDtoH", cuda.copy(&found, errors, sizeof found));
	result->errors += found;
	result->mib = count * (chunk >> 20);
	if (count == 0) {
		result->code = 2; // CUDA_ERROR_OUT_OF_MEMORY
		result->failed_call = "cuMemAlloc";
	}
}

void test_memory(const char *ptx, unsigned int pattern, struct memory_test *result) {
	void *context;
	int device;

	if ((result->failed_call = look_up())) {
		return;
	}
	CALL("cuInit", cuda.init(0));
	CALL("cuDeviceGet", cuda.device(&device, 0));
	CALL("cuCtxCreate", cuda.context(&context, 0, device));
	test_chunks(ptx, pattern, result);
	int code = cuda.destroy(context);
	if (code && !result->failed_call) {
		result->code = code;
		result->failed_call = "cuCtxDestroy";
	}
}
