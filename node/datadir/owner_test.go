package datadir_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"pinion/node/datadir"
)

const nobody = 65534

// A user who may change a data directory chooses the programs in it that root runs, and the process that `pinion down` ends.
func TestADirectoryThatOthersMayChangeIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make a directory of somebody else's")
	}
	for name, c := range map[string]struct {
		spoil func(path string) error
		want  string
	}{
		"of another user":        {func(path string) error { return os.Chown(path, nobody, nobody) }, "belongs to user 65534"},
		"that everybody changes": {func(path string) error { return os.Chmod(path, 0o777) }, "has the mode 0777"},
		"that a group changes":   {func(path string) error { return os.Chmod(path, 0o770) }, "has the mode 0770"},
		"by a link of another user": {func(path string) error {
			target := path + ".target"
			if err := os.Rename(path, target); err != nil {
				return err
			}
			if err := os.Symlink(target, path); err != nil {
				return err
			}
			return os.Lchown(path, nobody, nobody)
		}, "belongs to user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			open(t, path).Close()
			if err := c.spoil(path); err != nil {
				t.Fatal(err)
			}
			wantError(t, datadir.StopOwner(context.Background(), path), c.want)
			_, err := datadir.OpenReadOnly(path)
			wantError(t, err, c.want)
			_, err = datadir.Open(path)
			wantError(t, err, c.want)
		})
	}
}

// A directory that was made by hand has the mode 0755. Who may see it is changed, and told.
func TestOthersDoNotListADirectoryThatWasMadeByHand(t *testing.T) {
	for before, want := range map[os.FileMode]struct{ after, told os.FileMode }{0o755: {0o711, 0o755}, 0o750: {0o710, 0o750}, 0o711: {0o711, 0}, 0o700: {0o700, 0}} {
		path := t.TempDir()
		if err := os.Chmod(path, before); err != nil {
			t.Fatal(err)
		}
		dir := open(t, path)
		dir.Close()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want.after || dir.Listed != want.told {
			t.Errorf("%04o becomes %v (%v), told is %04o", before, info.Mode(), err, dir.Listed)
		}
	}
}

// An operator moves a data directory to a larger disk and leaves a link.
func TestALinkOfRootLeadsToADirectory(t *testing.T) {
	target, path := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	open(t, path).Close()
}
