package containerd

import (
	"os"
	"testing"
	"time"
)

// A power cut leaves any beginning of the file: the container was started, whatever is left.
func TestATornNoteOfAStartIsStillOne(t *testing.T) {
	files, at := startedFiles{dir: t.TempDir()}, time.Now()
	if err := files.record("c", at); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(files.path("c"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		if err := os.WriteFile(files.path("c"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := files.startedAt("c"); got.Sub(at).Abs() > time.Minute {
			t.Errorf("%q is a start at %v, want %v", whole[:n], got, at)
		}
	}
	if got := files.startedAt("never"); !got.IsZero() {
		t.Errorf("a container that never ran was started at %v", got)
	}
}
