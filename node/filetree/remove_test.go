package filetree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/filetree"
)

// nest makes a chain of directories from the bottom up: a path to the lowest would be longer than the kernel takes.
func nest(t testing.TB, dir string, levels int) {
	t.Helper()
	t.Chdir(dir)
	mkdir := func(name string) {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("chain")
	for range levels {
		mkdir("next")
		for _, move := range [][2]string{{"chain", "next/chain"}, {"next", "chain"}} {
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestADeepTreeTakesFewOpenFiles(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "scratch")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	nest(t, dir, 3000)
	t.Chdir("/")
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = uint64(len(open) + 100)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	if err := filetree.Remove(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}

func TestWhatIsRemoved(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	write(kept)
	for name, fill := range map[string]func(dir string){
		"nothing": func(string) {},
		"a wide one": func(dir string) {
			for i := range 3000 {
				write(filepath.Join(dir, strconv.Itoa(i)))
			}
		},
		"a link outwards": func(dir string) { os.Symlink(outside, filepath.Join(dir, "out")) },
		"names of what is moved up": func(dir string) {
			os.MkdirAll(filepath.Join(dir, ".removed-1", "full"), 0o755)
			write(filepath.Join(dir, ".removed-2"))
			nest(t, dir, 200)
		},
		"directories that nobody may read": func(dir string) {
			os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700)
			os.Chmod(filepath.Join(dir, "a"), 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			fill(dir)
			if err := filetree.Clear(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
				t.Errorf("%v are left, %v", left, err)
			}
			if err := filetree.Remove(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if err := filetree.Remove(t.Context(), dir); err != nil {
				t.Errorf("again: %v", err)
			}
			if _, err := os.Stat(kept); err != nil {
				t.Error(err)
			}
		})
	}
}

// A path is removed itself: a link to a directory is a link.
func TestAFileAndALinkAreRemoved(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "directory", "file")
	os.MkdirAll(filepath.Dir(inside), 0o755)
	os.WriteFile(inside, nil, 0o600)
	link := filepath.Join(dir, "link")
	os.Symlink(filepath.Dir(inside), link)
	if err := filetree.Remove(t.Context(), link); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
	if err := filetree.Remove(t.Context(), inside); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(inside); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// A directory that is filled as fast as it is emptied holds up nothing once its time is over: the time is looked at before each batch of names.
func TestARemovalEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tooLong := errors.New("it took too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tooLong)
	if err := filetree.Remove(ctx, dir); !errors.Is(err, tooLong) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "left")); err != nil {
		t.Error(err)
	}
}
