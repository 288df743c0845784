package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pinion/packaging/atomicfile"
	"pinion/packaging/bundle/archive"
)

// intact reports whether a tool exists, is executable, and matches its digest. Reading all tools takes a tenth of a second
// and warms the page cache for their start.
func intact(versionDir string, sum archive.Sum) bool {
	file, err := os.Open(filepath.Join(versionDir, sum.Name))
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Mode() != 0o755 {
		return false
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return err == nil && hex.EncodeToString(hash.Sum(nil)) == sum.Digest
}

// extract writes the wanted tools (name to digest) from the archive into home.
func extract(source fs.FS, versionDir string, wanted map[string]string) error {
	packed, err := source.Open("tools.tar.zst")
	if err != nil {
		return err
	}
	defer packed.Close()
	missing := len(wanted)
	err = archive.Read(packed, func(name string, content io.Reader) error {
		digest, ok := wanted[name]
		if !ok {
			return nil
		}
		missing--
		return writeTool(filepath.Join(versionDir, name), digest, content)
	})
	if err == nil && missing > 0 {
		err = fmt.Errorf("the archive in this binary lacks %d of %v", missing, wanted)
	}
	return err
}

// writeTool writes one tool beside its final path, verifies and syncs it, and renames it into place.
func writeTool(path, digest string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, hash), content); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != digest {
		return fmt.Errorf("%s in this binary is damaged: its digest is %s, not %s; install pinion again", filepath.Base(path), got, digest)
	}
	// The umask reduces the mode of a new file.
	if err := file.Chmod(0o755); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return atomicfile.Rename(path+".new", path)
}
