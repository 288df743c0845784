package archive

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// files are what is packed, in this order, which is not that of the alphabet nor that in which they are written.
var files = []string{"runc", "cni/portmap", "containerd", "cni/bridge"}

// write makes the files in a new directory, 256 KiB each, with the given mode and time.
func write(t *testing.T, mode os.FileMode, modified time.Time) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i, name := range slices.Sorted(slices.Values(files)) {
		path := filepath.Join(dir, name)
		words := rand.New(rand.NewPCG(1, uint64(i)))
		var content bytes.Buffer
		for content.Len() < 256<<10 {
			fmt.Fprintf(&content, "%x", words.Uint32N(5000))
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, content.Bytes(), mode))
		must(t, os.Chmod(path, mode))
		must(t, os.Chtimes(path, modified, modified))
	}
	return dir
}

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var packed bytes.Buffer
	_, err := Pack(&packed, dir, files)
	must(t, err)
	return packed.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The archive depends on the content and the order of the files, not on when, by whom and on how many CPUs it was made.
func TestOneContentHasOneArchive(t *testing.T) {
	first := pack(t, write(t, 0o755, time.Unix(1, 0)))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, cpus := range []int{1, 5} {
		runtime.GOMAXPROCS(cpus)
		if again := pack(t, write(t, 0o600, time.Now())); !bytes.Equal(first, again) {
			t.Errorf("with %d CPUs, another mode and another time the archive is another one", cpus)
		}
	}
	dir := write(t, 0o755, time.Unix(1, 0))
	must(t, os.WriteFile(filepath.Join(dir, "runc"), []byte("other"), 0o755))
	if bytes.Equal(first, pack(t, dir)) {
		t.Error("another content has the same archive")
	}
}

func TestTheArchiveHasTheFilesInTheGivenOrder(t *testing.T) {
	var got []string
	must(t, Read(bytes.NewReader(pack(t, write(t, 0o755, time.Now()))), func(name string, _ io.Reader) error {
		got = append(got, name)
		return nil
	}))
	if !slices.Equal(got, files) {
		t.Errorf("packed %v as %v", files, got)
	}
}
