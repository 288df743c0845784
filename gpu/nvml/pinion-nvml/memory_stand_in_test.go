//go:build cgo

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libcuda is a stand-in of the driver's library for a GPU with 2 GiB, of which WORDS are broken: each run of the kernel on the first chunk counts them.
const libcuda = `
#include <stdlib.h>
#include <string.h>
typedef unsigned long long address;
static size_t available = 2048ull << 20;
static unsigned long long count;
static unsigned int last;
static int allocations;
int cuInit(unsigned int flags) { const char *visible = getenv("CUDA_VISIBLE_DEVICES"); return visible && !strcmp(visible, "GPU-a") ? 0 : 100; }
int cuDeviceGet(int *device, int n) { *device = n; return 0; }
int cuCtxCreate_v2(void **context, unsigned int flags, int device) { *context = &count; available = 2048ull << 20; count = 0; return 0; }
int cuCtxDestroy_v2(void *context) { return context == &count ? 0 : 1; }
int cuMemGetInfo_v2(size_t *has, size_t *total) { *has = available; *total = 2048ull << 20; return 0; }
int cuMemAlloc_v2(address *a, size_t n) { if (n > available) return 2; available -= n; *a = ++allocations; return 0; }
int cuMemsetD32_v2(address a, unsigned int v, size_t n) { last = v; return 0; }
int cuMemcpyDtoH_v2(void *to, address from, size_t n) { memcpy(to, &count, n); return 0; }
int cuModuleLoadData(void **m, const void *ptx) { *m = &count; return strstr(ptx, ".entry verify") ? 0 : 218; }
int cuModuleGetFunction(void **f, void *m, const char *name) { *f = &count; return strcmp(name, "verify") ? 500 : 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned s, void *stream, void **p, void **e) {
	const char *broken = getenv("BROKEN_WORDS");
	if (*(unsigned int *)p[2] != last || *(unsigned long long *)p[1] != (256ull << 20) / 4) return 1;
	if (broken && *(address *)p[0] % 6 == 2) count += atoi(broken);
	return 0;
}
int cuCtxSynchronize(void) { const char *fails = getenv("SYNCHRONIZE_FAILS"); return fails ? atoi(fails) : 0; }
`

// runMemoryTest runs the helper's test against the stand-in, or without any library when dir is empty.
func runMemoryTest(t *testing.T, dir string, env ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAsMemoryTest$")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "AS_MEMORY_TEST=GPU-a")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestAsMemoryTest is the helper in a process of its own.
func TestAsMemoryTest(t *testing.T) {
	uuid := os.Getenv("AS_MEMORY_TEST")
	if uuid == "" {
		t.Skip("runMemoryTest starts it")
	}
	if err := run([]string{"pinion-nvml", "memory-test", uuid}); err != nil {
		t.Fatal(err)
	}
}

func TestTheMemoryOfAGPUIsTested(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "cuda.c")
	if err := os.WriteFile(source, []byte(libcuda), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-w", "-o", filepath.Join(dir, "libcuda.so.1"), source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, test := range []struct {
		name, dir string
		env       []string
		want      string
		passes    bool
	}{
		{"it keeps what is written", dir, nil, "1280 MiB keep what is written", true}, // all but the reserve and what is no whole chunk
		{"words differ", dir, []string{"BROKEN_WORDS=3"}, "6 words of 1280 MiB were not what was written", false},
		{"the kernel fails", dir, []string{"SYNCHRONIZE_FAILS=700"}, "cuCtxSynchronize: CUDA error 700", false},
		{"another GPU", dir, []string{"AS_MEMORY_TEST=GPU-b"}, "cuInit: CUDA error 100", false},
		{"no driver", t.TempDir(), nil, "libcuda.so.1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, code := runMemoryTest(t, test.dir, test.env...)
			if (code == 0) != test.passes || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d, output %s", code, out)
			}
		})
	}
}
