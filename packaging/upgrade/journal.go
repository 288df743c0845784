// Package upgrade replaces the pinion binary of a host while its tasks run, and rolls back unless the new one is ready in time.
//
// What is done stands in a journal in the data directory before it is done, so that whoever comes next, the guard beside the new program or the
// next start of either program, knows how to go on. There are two files: the program, and the previous one with .old behind its name. Each
// is put in place by one rename, so at any moment the program is whole and is one of the two; its digest says which.
package upgrade

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pinion/api/upgrade"
	"pinion/packaging/atomicfile"
)

// journalFile is the file of the data directory with the last attempt.
const journalFile = "upgrade.json"

// oldSuffix is the suffix of the previous program.
const oldSuffix = ".old"

// read reads the last attempt; nil when there was none.
func read(dataDir string) (*upgrade.Attempt, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, journalFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // who opens the data directory says what is wrong with it
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the last upgrade: %w", err)
	}
	a := new(upgrade.Attempt)
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("the last upgrade: %s: %w: remove the file if no upgrade is under way", filepath.Join(dataDir, journalFile), err)
	}
	return a, nil
}

// write replaces the last attempt; it is on the disk when nil is returned.
func write(dataDir string, a *upgrade.Attempt) error {
	text, err := json.Marshal(a)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dataDir, journalFile), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("recording the upgrade: %w", err)
	}
	return nil
}

// end records how an attempt has ended.
func end(dataDir string, a *upgrade.Attempt, state upgrade.State, reason string) error {
	a.State, a.Reason = state, reason
	return write(dataDir, a)
}

// digestOf is the digest of a file, as in a Release.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// checkDigest refuses a file of another digest; an empty one is any.
func checkDigest(path, want string) error {
	got, err := digestOf(path)
	if err == nil && want != "" && got != want {
		err = fmt.Errorf("it has the digest %s, not %s", got, want)
	}
	return err
}

// exclusiveFile is the file of the data directory that is locked while an upgrade is begun.
const exclusiveFile = "upgrade.lock"

// lock makes this the only process that begins an upgrade of the host, until unlock, which may be called twice, or the end of the process.
func lock(dataDir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dataDir, exclusiveFile), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("beginning an upgrade: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("another upgrade of this host is being begun: `pinion upgrade status` tells how it ends")
	}
	return func() { f.Close() }, nil
}

// errNothingToRestore means that the previous program is not there any more.
var errNothingToRestore = errors.New("the previous program is gone")

// restore puts the previous program in place, if it is not, and records why. Doing it twice is doing it once.
func restore(dataDir string, a *upgrade.Attempt, reason string) error {
	now, err := digestOf(a.Binary)
	if err == nil && now == a.From.Digest {
		return end(dataDir, a, upgrade.RolledBack, reason)
	}
	old := a.Binary + oldSuffix
	kept, err := digestOf(old)
	if err != nil {
		return fmt.Errorf("putting %s back (%s): %w: %w: install a release at %s yourself", a.From.Version, reason, errNothingToRestore, err, a.Binary)
	}
	if kept != a.From.Digest {
		return fmt.Errorf("putting %s back (%s): %w: %s is another one: install a release at %s yourself", a.From.Version, reason, errNothingToRestore, old, a.Binary)
	}
	if err := atomicfile.Rename(old, a.Binary); err != nil {
		return fmt.Errorf("putting %s back (%s): %w", a.From.Version, reason, err)
	}
	return end(dataDir, a, upgrade.RolledBack, reason)
}
