package atomicfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/packaging/atomicfile"
)

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	for name, write := range map[string]func(string, []byte, os.FileMode) error{"Write": atomicfile.Write, "Replace": atomicfile.Replace} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			for _, content := range []string{"a longer first content", "second"} {
				if err := write(path, []byte(content), 0o640); err != nil {
					t.Fatal(err)
				}
				wantContent(t, path, content)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
				t.Errorf("mode is %v, %v, want 0640", info.Mode(), err)
			}
			wantFiles(t, filepath.Dir(path), 1)
		})
	}
}

func TestWhatIsDiscardedLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := atomicfile.Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("ne")
	wantContent(t, path, "old")
	f.Discard()
	wantContent(t, path, "old")
	wantFiles(t, filepath.Dir(path), 1)
}

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.Mkdir(path, 0o700); err != nil { // a directory cannot be replaced by a file
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("new"), 0o600); err == nil {
		t.Error("replacing a directory succeeded")
	}
	wantFiles(t, dir, 1)
	if err := atomicfile.Write(filepath.Join(dir, "missing", "file"), nil, 0o600); err == nil {
		t.Error("writing into a missing directory succeeded")
	}
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the file holds %q, %v, want %q", got, err, want)
	}
}

func wantFiles(t *testing.T, dir string, want int) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
		t.Errorf("the directory holds %v, %v, want %d entries", entries, err, want)
	}
}

// A crash after any sector of the new content leaves the old file as it was, and the next write finds nothing in its way.
func TestACrashAtAnySectorLeavesTheOldFile(t *testing.T) {
	const sector = 512
	path := filepath.Join(t.TempDir(), "file")
	old, content := strings.Repeat("old ", 2000), strings.Repeat("new ", 4000)
	for n := 0; n <= len(content); n += sector {
		if err := atomicfile.Write(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := atomicfile.Create(path, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(content[:n]); err != nil {
			t.Fatal(err)
		}
		f.Close() // and nothing more: the process is gone
		wantContent(t, path, old)
		if !strings.HasPrefix(filepath.Base(f.Name()), atomicfile.TempPrefix) {
			t.Errorf("what is left is named %s", f.Name())
		}
		if err := atomicfile.Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantContent(t, path, content)
	}
}
