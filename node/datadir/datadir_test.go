package datadir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/datadir"
)

func open(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAHostKeepsItsIdentityOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	first := open(t, path)
	first.Close()
	second := open(t, path)
	defer second.Close()
	if first.HostID != second.HostID || first.PoolID != second.PoolID {
		t.Errorf("identity changed from %s/%s to %s/%s", first.HostID, first.PoolID, second.HostID, second.PoolID)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o711 {
		t.Errorf("mode of the data directory is %v, want 0711", info.Mode().Perm())
	}
}

func TestTwoDirectoriesAreTwoHosts(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	defer a.Close()
	defer b.Close()
	if a.HostID == b.HostID || a.PoolID == b.PoolID {
		t.Error("two data directories share an identity")
	}
}

func TestADirectoryInUseIsRefused(t *testing.T) {
	path := t.TempDir()
	defer open(t, path).Close()
	_, err := datadir.Open(path)
	wantError(t, err, "in use by another pinion")
}

func TestBadIdentityFilesAreRefusedAndKept(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"newer format": {`{"format":99,"hostId":"x","poolId":"y"}`, "written by a newer version"},
		"torn":         {`{"format":1,"hos`, "is damaged"},
		"no ids":       {`{"format":1}`, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			file := filepath.Join(path, "pinion.json")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := datadir.Open(path)
			wantError(t, err, c.want)
			if kept, _ := os.ReadFile(file); string(kept) != c.content {
				t.Errorf("the file was changed to %q", kept)
			}
		})
	}
}

func TestOnlyADataDirectoryIsEnded(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "lock"), nil, 0o600); err != nil { // as package managers have one
		t.Fatal(err)
	}
	wantError(t, datadir.StopOwner(t.Context(), path), "is not a data directory of pinion")
	open(t, path).Close()
	if err := datadir.StopOwner(t.Context(), path); err != nil {
		t.Errorf("a data directory that nobody uses: %v", err)
	}
}

// A mount inside would otherwise be emptied instead of unmounted.
func TestPurgeUnmountsWhatIsInside(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	link := filepath.Join(parent, "link")
	if err := os.Symlink(filepath.Join(parent, "with a blank"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(parent, "with a blank"), 0o711); err != nil {
		t.Fatal(err)
	}
	d := open(t, link)
	defer d.Close()
	inside := d.Join("mounted here")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(outside, inside, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(parent, "with a blank", "mounted here"), unix.MNT_DETACH) })
	if err := d.Purge(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Errorf("purging a data directory reached through a mount: %v", err)
	}
}

func TestADirectoryWithSomebodysFilesIsRefused(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "important.txt")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := datadir.Open(path)
	wantError(t, err, "important.txt")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// The keys of a server are in a new directory before a snapshot is restored into it.
func TestADirectoryWithTheKeysForASnapshotIsTaken(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"seal.key", "unlock.age"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("a key"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
}

func TestTheContainerdOfADirectoryDoesNotChangeUnderItsTasks(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	const theirs = "/run/containerd/containerd.sock"
	if err := d.SetContainerd(theirs); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Join("raft"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Containerd(); got != theirs || err != nil {
		t.Errorf("remembered %q, %v", got, err)
	}
	if err := d.SetContainerd(theirs); err != nil {
		t.Error(err)
	}
	wantError(t, d.SetContainerd(""), "run on the containerd at "+theirs)
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one that says %q", err, want)
	}
}

// Whatever a power cut leaves of the identity, the host is the same one or refuses to start and says why.
func TestATornIdentityIsRefused(t *testing.T) {
	path := t.TempDir()
	first := open(t, path)
	first.Close()
	files, err := filepath.Glob(filepath.Join(path, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		if err := os.WriteFile(files[0], whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := datadir.Open(path)
		if err != nil {
			wantError(t, err, files[0])
			continue
		}
		if d.HostID != first.HostID || d.PoolID != first.PoolID {
			t.Errorf("%d bytes of %d are the identity of another host", n, len(whole))
		}
		d.Close()
	}
}
