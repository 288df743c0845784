package e2e

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"pinion/api/client"
)

// A key that may only read takes no memory of the host with a log: a tail is bounded, and a whole log is passed on line by line,
// however many ask for it at once.
func TestReadingALargeLogTakesNoMemory(t *testing.T) {
	h := sharedHost(t)
	h.registerShell(t, "large", 0, "yes 'a line that is one of very many, and says nothing at all' | head -n 300000")
	id := h.runTask(t, "large")
	h.waitStopped(t, id)
	before := h.memory(t)
	var readers sync.WaitGroup
	for range 3 {
		for tail, want := range map[int]int{0: 300_000, 10_000: 10_000} {
			readers.Go(func() {
				lines := 0
				err := h.api.Logs(t.Context(), client.LogQuery{Task: id, Tail: tail}, func(client.LogLine) error { lines++; return nil })
				if err != nil || lines != want {
					t.Errorf("a tail of %d: %d lines, %v", tail, lines, err)
				}
			})
		}
	}
	readers.Wait()
	if grown := h.memory(t) - before; grown > 48<<10 {
		t.Errorf("the log has some 40 MiB; the host grew by %d MiB", grown>>10)
	}
	err := h.api.Logs(t.Context(), client.LogQuery{Task: id, Tail: 2_000_000_000}, func(client.LogLine) error { return io.EOF })
	if err == nil || !strings.Contains(err.Error(), "tail may be 10000 lines") {
		t.Errorf("a tail of any length: %v", err)
	}
}

// memory is the largest part of the host's own process that was in memory since it started, in KiB.
func (h *host) memory(t *testing.T) (peak int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &peak); err != nil {
		t.Fatal(err)
	}
	return peak
}
