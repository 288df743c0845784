package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/volumeroot"
)

// fixture is a host with a data directory, and a directory /…/data that it gives to tasks beside one that it does not.
type fixture struct {
	t                         *testing.T
	dataDir, given, elsewhere string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t, filepath.Join(base, "pinion"), filepath.Join(base, "data"), filepath.Join(base, "elsewhere")}
	for _, dir := range []string{f.dataDir, f.given, f.elsewhere} {
		f.must(os.Mkdir(dir, 0o755))
	}
	f.must(os.WriteFile(filepath.Join(f.elsewhere, "secret"), []byte("secret"), 0o600))
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) roots(named ...volumeroot.Root) *Roots {
	f.t.Helper()
	roots, err := Open(append(named, volumeroot.Root{Path: f.given}), f.dataDir)
	f.must(err)
	return roots
}

// open makes and opens what a task definition names, and returns the real path of what was opened.
func (f *fixture) open(roots *Roots, sourcePath string) (string, error) {
	v, err := roots.Find(sourcePath)
	if err != nil {
		return "", err
	}
	if err := v.Make(); err != nil {
		return "", err
	}
	file, err := v.Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	return os.Readlink(descriptorPath(file))
}

func TestDirectoriesThatTasksCanMount(t *testing.T) {
	f := newFixture(t)
	f.must(os.WriteFile(filepath.Join(f.given, "file"), nil, 0o600))
	f.must(os.Symlink("inner", filepath.Join(f.given, "link")))
	roots := f.roots(volumeroot.Root{Name: "more", Path: f.elsewhere})
	for sourcePath, want := range map[string]string{
		f.given:                 f.given,
		f.given + "/new/er":     f.given + "/new/er",
		f.given + "/file":       f.given + "/file",
		f.given + "/inner":      f.given + "/inner",
		f.given + "/link":       f.given + "/inner",
		"more":                  f.elsewhere,
		"more/x":                f.elsewhere + "/x",
		f.elsewhere + "/secret": f.elsewhere + "/secret",
		"local/cache":           f.dataDir + "/volumes/cache",
	} {
		f.must(os.MkdirAll(filepath.Join(f.given, "inner"), 0o755))
		if got, err := f.open(roots, sourcePath); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", sourcePath, got, err, want)
		}
	}
	if info, err := os.Stat(f.dataDir + "/volumes/cache"); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("a local volume is not for every user: %v, %v", info, err)
	}
	if info, err := os.Stat(f.given + "/new/er"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a directory that was made: %v, %v", info, err)
	}
}

// A task can put anything into a directory that it may write to. None of it leads the next task out of it.
func TestWhatATaskLeavesInItsVolumeLeadsNowhereElse(t *testing.T) {
	f := newFixture(t)
	for name, target := range map[string]string{
		"root": "/", "sys": "/sys", "up": "..", "beside": "../elsewhere", "absolute": f.elsewhere, "file": f.elsewhere + "/secret",
		"data": f.dataDir, "magic": "/proc/self/root", "chain": "up", "loop": "loop",
	} {
		f.must(os.Symlink(target, filepath.Join(f.given, name)))
	}
	socket, err := net.Listen("unix", filepath.Join(f.given, "socket"))
	f.must(err)
	defer socket.Close()
	f.must(unix.Mkfifo(filepath.Join(f.given, "pipe"), 0o600))
	f.must(unix.Mknod(filepath.Join(f.given, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	roots := f.roots()
	for _, name := range []string{
		"root", "root/etc", "sys", "up", "up/elsewhere", "beside", "beside/secret", "beside/made", "absolute", "absolute/made", "file", "data", "magic", "magic/etc", "chain/elsewhere", "loop",
		"socket", "pipe", "device", "socket/x",
	} {
		if got, err := f.open(roots, filepath.Join(f.given, name)); err == nil {
			t.Errorf("%s: %s is mounted", name, got)
		} else if !strings.Contains(err.Error(), f.given+"/"+name) {
			t.Errorf("%s: the message does not name it: %v", name, err)
		}
	}
	for _, sourcePath := range []string{f.given + "x", f.given + "/../elsewhere", "/", "/etc", f.dataDir, "local/../../raft", "nothing", "", "local\x00/x", f.given + "/\x00"} {
		if got, err := f.open(roots, sourcePath); err == nil {
			t.Errorf("%q: %s is mounted", sourcePath, got)
		}
	}
	if _, err := os.Stat(filepath.Join(f.elsewhere, "made")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was made elsewhere: %v", err)
	}
}

// Another task changes a link and a directory into one another all the time: what is opened is always in the directory.
func TestALinkThatComesAndGoesWinsNoRace(t *testing.T) {
	f := newFixture(t)
	one, two := filepath.Join(f.given, "one"), filepath.Join(f.given, "two")
	f.must(os.Mkdir(one, 0o755))
	f.must(os.Symlink(f.elsewhere, two))
	roots := f.roots()
	var stop atomic.Bool
	swapped := make(chan error, 1)
	go func() {
		for !stop.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, two, unix.RENAME_EXCHANGE); err != nil {
				swapped <- err
				return
			}
		}
		swapped <- nil
	}()
	opened := 0
	for range 3000 {
		if got, err := f.open(roots, one); err == nil {
			if opened++; !within(got, f.given) {
				t.Fatalf("%s was opened", got)
			}
		}
	}
	stop.Store(true)
	f.must(<-swapped)
	t.Logf("opened %d of 3000 times", opened)
	if _, err := os.Stat(filepath.Join(f.elsewhere, "secret")); err != nil {
		t.Error(err)
	}
}

// Another task has a link to a closed directory come and go where a volume is made: that directory stays closed.
func TestMakingAVolumeOpensNoOtherDirectory(t *testing.T) {
	f := newFixture(t)
	closed, made := filepath.Join(f.given, "closed"), filepath.Join(f.given, "made")
	f.must(os.Mkdir(closed, 0o700))
	roots := f.roots()
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
			_ = os.Remove(made)
			_ = os.Symlink("closed", made)
		}
	}()
	for range 3000 {
		_, _ = f.open(roots, made)
	}
	stop.Store(true)
	<-stopped
	if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the closed directory has mode %v, %v", info.Mode(), err)
	}
}

// The root itself is opened by its real path: a link in the place of a part of it is not followed.
func TestARootThatBecameALinkIsNotFollowed(t *testing.T) {
	f := newFixture(t)
	roots := f.roots()
	f.must(os.Rename(f.given, f.given+".old"))
	f.must(os.Symlink(f.elsewhere, f.given))
	if got, err := f.open(roots, f.given+"/secret"); err == nil {
		t.Errorf("%s was opened", got)
	}
}

func TestFileSystemsOfTheKernelAreNeverGiven(t *testing.T) {
	f := newFixture(t)
	point := filepath.Join(f.given, "a", "proc")
	f.must(os.MkdirAll(point, 0o755))
	f.must(unix.Mount("proc", point, "proc", 0, ""))
	t.Cleanup(func() { unix.Unmount(point, unix.MNT_DETACH) })
	roots := f.roots()
	for _, path := range []string{f.given, f.given + "/a", point, point + "/sys"} {
		if _, err := f.open(roots, path); err == nil || !strings.Contains(err.Error(), "a file system of the kernel (proc)") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := f.open(roots, f.given+"/b"); err != nil {
		t.Errorf("beside it: %v", err)
	}
}

func TestADirectoryToReadIsNotMade(t *testing.T) {
	f := newFixture(t)
	roots, err := Open([]volumeroot.Root{{Name: "ro", Path: f.given, ReadOnly: true}}, f.dataDir)
	f.must(err)
	if _, err := f.open(roots, "ro/new"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is not made") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.given, "new")); err == nil {
		t.Error("it was made")
	}
}

// Directories that an operator may not give away are refused before the host starts, by whatever path they are named.
func TestDirectoriesThatAreNeverGiven(t *testing.T) {
	f := newFixture(t)
	socket := filepath.Join(f.elsewhere, "containerd.sock")
	f.must(os.WriteFile(socket, nil, 0o600))
	link := filepath.Join(filepath.Dir(f.given), "link")
	for i, target := range []string{"/", "/etc", "/etc/ssl", "/run", "/var/run", "/proc", "/proc/sys", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm", f.dataDir, filepath.Dir(f.dataDir), f.elsewhere} {
		linked := fmt.Sprint(link, i)
		f.must(os.Symlink(target, linked))
		for _, path := range []string{target, linked} {
			if _, err := Open([]volumeroot.Root{{Path: path}}, f.dataDir, socket); err == nil || !strings.Contains(err.Error(), "--volume "+path) || !strings.Contains(err.Error(), "never given") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	f.must(os.MkdirAll(filepath.Join(f.given, "inner"), 0o755))
	f.must(unix.Mount("/etc", f.given+"/inner", "", unix.MS_BIND, ""))
	if _, err := Open([]volumeroot.Root{{Path: f.given + "/inner"}}, f.dataDir); err == nil || !strings.Contains(err.Error(), "/etc is never given") {
		t.Errorf("/etc at another place: %v", err)
	}
	f.must(unix.Unmount(f.given+"/inner", 0))
	f.must(os.WriteFile(filepath.Join(f.given, "file"), nil, 0o600))
	for _, c := range []struct {
		named []volumeroot.Root
		says  string
	}{
		{[]volumeroot.Root{{Path: f.given + "/none"}}, "make the directory first"},
		{[]volumeroot.Root{{Path: f.given + "/file"}}, "not a directory"},
		{[]volumeroot.Root{{Path: "data"}}, "not an absolute path"},
		{[]volumeroot.Root{{Path: f.given}, {Name: "inner", Path: f.given + "/inner", ReadOnly: true}}, "give one of them"},
		{[]volumeroot.Root{{Path: f.given}, {Name: "again", Path: f.given}}, "give one of them"},
		{[]volumeroot.Root{{Name: "a", Path: f.given}, {Name: "a", Path: f.elsewhere}}, "has this name already"},
	} {
		if _, err := Open(c.named, f.dataDir); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %s", c.named, err, c.says)
		}
	}
}

func TestTheLocalDirectoryCanBeElsewhere(t *testing.T) {
	f := newFixture(t)
	roots, err := Open([]volumeroot.Root{{Name: volumeroot.Local, Path: f.given}}, f.dataDir)
	f.must(err)
	if got, err := f.open(roots, "local/x"); err != nil || got != f.given+"/x" {
		t.Errorf("%s, %v", got, err)
	}
	if all := roots.List(); len(all) != 1 {
		t.Errorf("%v", all)
	}
}

// A task may leave a program of root's that is setuid, or a device, in a local volume: users of the host must not get at it.
func TestUsersOfTheHostDoNotReachLocalVolumes(t *testing.T) {
	f := newFixture(t)
	dir := filepath.Join(f.dataDir, "volumes")
	for _, before := range []os.FileMode{0, 0o711} { // missing, and made by an earlier version
		if before != 0 {
			f.must(os.Chmod(dir, before))
		}
		f.roots()
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("made from %v: %v, %v", before, info, err)
		}
	}
}
