package containerdtest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// ParentOf returns the process id of a process's parent. That of a container's first process is its shim.
func ParentOf(t testing.TB, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}
