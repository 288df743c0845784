package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryIsReadInMiB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	os.WriteFile(path, []byte("MemTotal:       25165824 kB\nMemFree: 1 kB\n"), 0o600)
	if got, err := totalMemoryMiB(path); err != nil || got != 24576 {
		t.Errorf("got %d MiB, %v; want 24576", got, err)
	}
}

func TestThisMachineHasSomethingToGive(t *testing.T) {
	r, err := Measure()
	if err != nil || r.CPU < UnitsPerCore || r.MemoryMiB <= 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}
