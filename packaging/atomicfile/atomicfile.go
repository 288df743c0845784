// Package atomicfile replaces files atomically: a reader, and a start after a crash, finds the old content or the new
// one, never a part of it.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// TempPrefix begins the name of every temporary file of this package. A crash can leave one behind in the directory of
// the file that was to be replaced.
const TempPrefix = ".new-"

// Write replaces the file durably: when it returns nil, the content and its name have reached the disk.
func Write(path string, content []byte, mode fs.FileMode) error {
	return Fill(path, mode, writer(content))
}

// Fill is Write with the content that fill writes.
func Fill(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return write(path, mode, fill, (*File).Commit)
}

// Replace replaces the file atomically and syncs nothing: it is for state that a crash of the machine ends anyway. After
// such a crash the file may be empty.
func Replace(path string, content []byte, mode fs.FileMode) error {
	return write(path, mode, writer(content), (*File).replace)
}

func writer(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

func write(path string, mode fs.FileMode, fill func(io.Writer) error, commit func(*File) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := fill(f); err != nil {
		return err
	}
	return commit(f)
}

// File is a temporary file beside the file that it will replace.
type File struct {
	*os.File
	path string
}

// Create opens a temporary file for the path. It ends with Commit or Discard.
func Create(path string, mode fs.FileMode) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return &File{File: f, path: path}, nil
}

// Commit syncs the content, gives the file its path, and syncs the directory.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return Rename(f.Name(), f.path)
}

func (f *File) replace() error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), f.path)
}

// Discard closes and removes the temporary file. After Commit it does nothing, so that it can be deferred.
func (f *File) Discard() {
	f.Close()
	os.Remove(f.Name())
}

// Rename renames a file that is on the disk already, and syncs the directory of its new name.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// SyncDir waits until the directory's entries (files made, renamed or removed in it) have reached the disk.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" { // which cannot sync a directory, and journals its entries
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
