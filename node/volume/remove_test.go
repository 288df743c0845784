package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

func unused() string { return "" }

// Removal takes the directory of that name and nothing that it leads to; the pool is told of the volumes that come after it.
func TestASharedVolumeIsRemoved(t *testing.T) {
	f := newFixture(t)
	local := filepath.Join(f.dataDir, "volumes")
	f.must(os.MkdirAll(filepath.Join(local, "models", "deep"), 0o755))
	f.must(os.Symlink(f.elsewhere, filepath.Join(local, "models", "link")))
	f.must(os.Symlink(f.elsewhere, filepath.Join(local, "beside")))
	for i := range volumeroot.MaxShared {
		f.must(os.Mkdir(filepath.Join(local, fmt.Sprintf("n%03d", i)), 0o755))
	}
	roots := f.roots(volumeroot.Root{Name: "operators", Path: f.elsewhere})
	last := fmt.Sprintf("n%03d", volumeroot.MaxShared-1)
	if slices.Contains(roots.Shared(), last) {
		t.Fatalf("the host has told of %s", last)
	}
	told := 0
	roots.OnShared(func() { told++ })
	f.must(roots.RemoveShared("models", unused))
	<-roots.Removed()
	f.must(roots.Sweep(t.Context()))
	if left, err := os.ReadDir(local); err != nil || len(left) != volumeroot.MaxShared+1 {
		t.Errorf("%d are left: %v", len(left), err)
	}
	if told != 1 || !slices.Contains(roots.Shared(), last) || slices.Contains(roots.Shared(), "models") {
		t.Errorf("the pool was told %d times", told)
	}
	f.must(roots.RemoveShared(last, unused))
	for _, name := range []string{"beside", "models", "..", "deep/er", "", ".removed-x"} {
		if err := roots.RemoveShared(name, unused); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if err := roots.RemoveShared("operators", unused); err == nil || errors.Is(err, spec.ErrNotFound) {
		t.Errorf("the directory of the operator: %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.elsewhere, "secret")); err != nil {
		t.Error(err)
	}
}

// A removal that was cut short is carried to its end.
func TestWhatIsLeftOfARemovedVolumeGoes(t *testing.T) {
	f := newFixture(t)
	left := filepath.Join(f.dataDir, "volumes", removedPrefix+"1", "deep")
	f.must(os.MkdirAll(left, 0o755))
	roots := f.roots()
	f.must(roots.Sweep(t.Context()))
	if _, err := os.Stat(filepath.Dir(left)); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// A directory that is being removed is no volume of a task: the task could fill it for ever.
func TestNoTaskHasWhatIsBeingRemoved(t *testing.T) {
	roots := newFixture(t).roots()
	for _, path := range []string{removedPrefix + "0", removedPrefix + "0/deep"} {
		if v, err := roots.Find(volumeroot.Local + "/" + path); err == nil {
			t.Errorf("%s is %+v", path, v)
		}
	}
}

// A mounted file system is opened without the lock of shared volumes, whatever its name is.
func TestAFileSystemIsNoSharedVolume(t *testing.T) {
	for _, name := range []string{"models", volumeroot.Local} {
		v := At(t.TempDir(), ".", name)
		file, err := v.Open()
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		if err := v.Make(); err != nil || v.InShared("models") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
