package bundle

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory returns the memory of unpacking to the kernel: the decompressor's buffers, and the pages of this binary
// that hold the archive. Otherwise they count as Pinion's until another program needs memory. The kernel reads a page again
// when it is accessed, so this is safe at any time.
func releaseMemory() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		var from, to uintptr
		if len(fields) != 6 || fields[5] != self || fields[1] != "r--p" {
			continue
		}
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &from, &to); err == nil {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
