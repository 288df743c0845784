//go:build cgo

package main

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "memory.h"
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"

	_ "embed"
)

// verifyKernel is the kernel of the memory test, in PTX: each word that is not what it should be adds one to a count.
//
//go:embed verify.ptx
var verifyKernel string

// memoryTest is the result of a test of memory.
type memoryTest struct {
	MiB    uint64 // tested
	Errors uint64 // words that were not what was written
}

// patterns are the words that the test writes. Each bit is once set and once not, beside others that are not as it is.
var patterns = []uint32{0x55555555, 0xAAAAAAAA}

// testMemory writes all free memory of the only GPU that this process sees, and has the GPU compare it.
func testMemory() (memoryTest, error) {
	kernel := C.CString(verifyKernel)
	defer C.free(unsafe.Pointer(kernel))
	var result C.struct_memory_test
	for _, pattern := range patterns {
		C.test_memory(kernel, C.uint(pattern), &result)
		switch {
		case result.failed_call != nil && result.code != 0:
			return memoryTest{}, fmt.Errorf("%s: CUDA error %d", C.GoString(result.failed_call), int(result.code))
		case result.failed_call != nil:
			return memoryTest{}, fmt.Errorf("the NVIDIA driver lacks a part: %s", C.GoString(result.failed_call))
		}
	}
	return memoryTest{MiB: uint64(result.mib), Errors: uint64(result.errors)}, nil
}

// printMemoryTest tests the memory of the GPU and prints the result.
func printMemoryTest(uuid string) error {
	if err := os.Setenv("CUDA_VISIBLE_DEVICES", uuid); err != nil {
		return err
	}
	result, err := testMemory()
	switch {
	case err != nil:
		return err
	case result.Errors > 0:
		return fmt.Errorf("%d words of %d MiB were not what was written", result.Errors, result.MiB)
	}
	fmt.Printf("%d MiB keep what is written\n", result.MiB)
	return nil
}
