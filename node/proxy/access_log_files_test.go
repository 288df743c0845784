package proxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheAccessLogIsBoundedOnDisk: more lines than all files may hold leave the youngest, each whole; a restart goes on with them.
func TestTheAccessLogIsBoundedOnDisk(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "access")
	line := strings.Repeat("x", 99) + "\n"
	for range 3 { // three runs of the host
		log, err := OpenAccessLog(directory)
		if err != nil {
			t.Fatal(err)
		}
		log.maxFile = 1000
		for range 50 {
			if _, err := log.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		log.Close()
	}
	files, err := os.ReadDir(directory)
	if err != nil || len(files) != maxAccessFiles {
		t.Fatalf("%d files, %v; want %d", len(files), err, maxAccessFiles)
	}
	for _, f := range files {
		all, _ := os.ReadFile(filepath.Join(directory, f.Name()))
		if len(all) != 1000 || strings.Count(string(all), line) != 10 {
			t.Errorf("%s has %d bytes, want 10 whole lines", f.Name(), len(all))
		}
	}
}

// TestAnAccessLogThatCannotRotateLosesLines: the bound holds, and what can be written again is.
func TestAnAccessLogThatCannotRotateLosesLines(t *testing.T) {
	directory := t.TempDir()
	log, err := OpenAccessLog(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	log.maxFile = 10
	_, _ = log.Write([]byte("0123456789"))
	blocked := log.numbered(maxAccessFiles - 1)
	if err := os.MkdirAll(filepath.Join(blocked, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log.numbered(maxAccessFiles-2), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write([]byte("lost")); err == nil {
		t.Error("it was written beyond the bound")
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Write([]byte("kept")); err != nil {
		t.Error(err)
	}
}
