package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pinion/node/datadir"
)

func claim(t *testing.T, path string) (*datadir.Dir, error) {
	t.Helper()
	d := open(t, path)
	defer d.Close()
	return d, d.Claim()
}

func TestEachStartIsCountedAtOnePlace(t *testing.T) {
	path := t.TempDir()
	var location string
	for n := int64(1); n <= 3; n++ {
		c, err := claim(t, path)
		if err != nil || c.Starts != n || c.Location == "" || location != "" && c.Location != location {
			t.Fatalf("start %d: %+v %v", n, c, err)
		}
		location = c.Location
	}
}

func TestACopyOfADataDirectoryIsRefused(t *testing.T) {
	path, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	first, err := claim(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // trying again changes nothing
		_, err = claim(t, copied)
		if !errors.Is(err, datadir.ErrCopied) {
			t.Fatalf("a copy: %v", err)
		}
		wantError(t, err, "empty --data-dir")
		wantError(t, err, filepath.Join(copied, "machine"))
	}
	if err := os.Remove(filepath.Join(copied, "machine")); err != nil {
		t.Fatal(err)
	}
	second, err := claim(t, copied)
	if err != nil || second.Starts != first.Starts+1 || second.Location == first.Location {
		t.Errorf("what takes the place of the first: %+v %v, the first %+v", second, err, first)
	}
}

func TestADirectoryOfAnotherMachineIsRefused(t *testing.T) {
	path := t.TempDir()
	if _, err := claim(t, path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "machine"), []byte("0123456789abcdef 4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(t, path); !errors.Is(err, datadir.ErrCopied) {
		t.Errorf("%v", err)
	}
}

func TestAMovedDirectoryIsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	first, err := claim(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"-moved"); err != nil {
		t.Fatal(err)
	}
	if moved, err := claim(t, path+"-moved"); err != nil || moved.Location != first.Location {
		t.Errorf("%+v %v", moved, err)
	}
}
