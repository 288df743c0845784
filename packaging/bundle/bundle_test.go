package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"pinion/packaging/bundle/archive"
)

// toolNames are the tools of a made-up bundle.
var toolNames = []string{"containerd", "runc", "cni/bridge"}

// newBundle packs a bundle whose files hold the given text, name added.
func newBundle(t *testing.T, text string) fstest.MapFS {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range toolNames {
		files[name] = []byte(name + " " + text)
	}
	return packBundle(t, files)
}

func packBundle(t *testing.T, files map[string][]byte) fstest.MapFS {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, content, 0o644))
	}
	var packed bytes.Buffer
	sums, err := archive.Pack(&packed, dir, toolNames)
	must(t, err)
	var text strings.Builder
	for _, sum := range sums {
		fmt.Fprintln(&text, sum)
	}
	return fstest.MapFS{"tools.tar.zst": {Data: packed.Bytes()}, "tools.sum": {Data: []byte(text.String())}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkTools fails unless every tool of a made-up bundle is there and can be executed.
func checkTools(t *testing.T, tools Tools, text string) {
	t.Helper()
	home := filepath.Dir(tools.Containerd)
	for _, name := range toolNames {
		content, err := os.ReadFile(filepath.Join(home, name))
		must(t, err)
		if string(content) != name+" "+text {
			t.Errorf("%s holds %q", name, content)
		}
		if info, _ := os.Stat(filepath.Join(home, name)); info.Mode() != 0o755 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(home, "*.new")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnpackGivesEveryTool(t *testing.T) {
	dir := t.TempDir()
	tools, err := unpack(newBundle(t, "one"), dir)
	must(t, err)
	checkTools(t, tools, "one")
	if want := filepath.Join(filepath.Dir(tools.Containerd), "cni"); tools.CNI != want || !strings.HasPrefix(tools.CNI, dir) {
		t.Errorf("CNI plugins are said to be in %s", tools.CNI)
	}
}

func TestUnpackAgainTouchesNothing(t *testing.T) {
	source, dir := newBundle(t, "one"), t.TempDir()
	tools, err := unpack(source, dir)
	must(t, err)
	before, err := os.Stat(tools.Runc)
	must(t, err)
	_, err = unpack(source, dir)
	must(t, err)
	after, err := os.Stat(tools.Runc)
	must(t, err)
	if !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Error("an undamaged tool was written again")
	}
}

func TestUnpackRepairsOnlyWhatIsDamaged(t *testing.T) {
	damages := map[string]func(path string) error{
		"a byte differs": func(path string) error { return os.WriteFile(path, []byte("runc oNe"), 0o755) },
		"cut short":      func(path string) error { return os.Truncate(path, 3) },
		"missing":        os.Remove,
		"not executable": func(path string) error { return os.Chmod(path, 0o644) },
		"half written anew": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path+".new", []byte("ru"), 0o600))
		},
		"writable by others": func(path string) error { return os.Chmod(path, 0o777) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			source, dir := newBundle(t, "one"), t.TempDir()
			tools, err := unpack(source, dir)
			must(t, err)
			healthy, err := os.Stat(tools.Containerd)
			must(t, err)
			must(t, damage(tools.Runc))

			tools, err = unpack(source, dir)
			must(t, err)
			checkTools(t, tools, "one")
			if still, _ := os.Stat(tools.Containerd); !os.SameFile(healthy, still) {
				t.Error("a healthy tool was replaced too")
			}
		})
	}
}

func TestUnpackFromSeveralProcessesAtOnce(t *testing.T) {
	source, dir := newBundle(t, "one"), t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			tools, err := unpack(source, dir)
			if err != nil {
				t.Error(err)
				return
			}
			checkTools(t, tools, "one")
		})
	}
	all.Wait()
}

func TestUnpackRefusesADamagedBinary(t *testing.T) {
	source := newBundle(t, "one")
	other := newBundle(t, "two")
	source["tools.tar.zst"] = other["tools.tar.zst"]
	_, err := unpack(source, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "install pinion again") {
		t.Errorf("got %v", err)
	}
	cut := source["tools.tar.zst"].Data
	source["tools.tar.zst"] = &fstest.MapFile{Data: cut[:len(cut)/2]}
	if _, err := unpack(source, t.TempDir()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
}

func TestABinaryWithoutToolsSaysSo(t *testing.T) {
	_, err := unpack(fstest.MapFS{"tools.txt": {}}, t.TempDir())
	if !errors.Is(err, ErrNotBuilt) {
		t.Errorf("got %v", err)
	}
}

func TestOldVersionsStayWhileTheyAreOfUse(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile("/bin/cat")
	must(t, err)
	inUse, err := unpack(packBundle(t, map[string][]byte{"containerd": program, "runc": {}, "cni/bridge": {}}), dir)
	must(t, err)
	stop := startProgram(t, inUse.Containerd)
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Dir(inUse.Runc), long, long))

	versions := map[string]Tools{}
	for i, text := range []string{"one", "two", "three"} {
		tools, err := unpack(newBundle(t, text), dir)
		must(t, err)
		used := time.Now().Add(time.Duration(i-10) * time.Minute)
		must(t, os.Chtimes(filepath.Dir(tools.Runc), used, used))
		versions[text] = tools
	}
	checkExists(t, inUse.Containerd, true, "a process runs from it")
	checkExists(t, versions["one"].Runc, false, "two versions came after it")
	checkExists(t, versions["two"].Runc, true, "it was the one before")
	checkExists(t, versions["three"].Runc, true, "it is the present one")

	stop()
	_, err = unpack(newBundle(t, "three"), dir)
	must(t, err)
	checkExists(t, inUse.Containerd, false, "nothing runs from it any more")
}

// startProgram runs a program that waits for its standard input, until stop.
func startProgram(t *testing.T, path string) (stop func()) {
	t.Helper()
	cmd := exec.Command(path)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	return func() {
		stdin.Close()
		must(t, cmd.Wait())
	}
}

func checkExists(t *testing.T, path string, want bool, why string) {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == want {
		t.Errorf("%s there: %v, want %v: %s", path, err == nil, want, why)
	}
}
