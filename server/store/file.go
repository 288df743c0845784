package store

import (
	"os"
	"path/filepath"
)

// WriteFile replaces the file by one with this content, or leaves it as it is: after a crash there is the old file or
// the new one, never a part.
func WriteFile(path string, content []byte, mode os.FileMode) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already when all went well
	err = fill(file, content, mode)
	if err != nil {
		return err
	}
	return rename(file.Name(), path)
}

func fill(file *os.File, content []byte, mode os.FileMode) error {
	defer file.Close()
	if err := file.Chmod(mode); err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.Sync()
}

// rename moves a file and waits until the directory is on disk.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
