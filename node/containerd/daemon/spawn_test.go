package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The daemon has the log open all the time and appends to it.
func TestTheLogOfContainerdIsBoundedWhileItRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), logName)
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
	for range 40 {
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
		if err := truncateLog(path); err != nil {
			t.Fatal(err)
		}
	}
	total := int64(0)
	for _, name := range []string{path, path + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 2*maxLog+int64(len(line)) || total < maxLog {
		t.Errorf("%d bytes are kept", total)
	}
}
