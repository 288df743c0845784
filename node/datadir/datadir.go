// Package datadir is the directory that holds everything a host keeps: it has the host's identity, and a lock against a
// second process.
package datadir

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/atomicfile"
)

// Format is the layout this program writes. A directory with a higher one was written by a newer Pinion.
const Format = 1

const (
	// lockFile holds the id of the process that uses the directory, and is locked by it.
	lockFile = "lock"
	// identityFile marks a directory as pinion's.
	identityFile = "pinion.json"
)

// Dir is an opened data directory. It stays locked against other processes until Close.
type Dir struct {
	Path   string // absolute
	HostID string // 32 hex digits, made at first start, never changed
	PoolID string // the cluster of hosts this directory belongs to, made at first start
	lock   *os.File

	// Listed is the mode with which Open found a directory that others could list, and made it one that they cannot; 0: it was none.
	Listed fs.FileMode

	// Both tell this process from another with the host's identity, after Claim.
	Location string // this directory on this machine since its boot; one process at a time has it, for the directory is locked
	Starts   int64  // starts of this host, this one included
}

// identity is pinion.json.
type identity struct {
	Format int    `json:"format"`
	HostID string `json:"hostId"`
	PoolID string `json:"poolId"`
}

// Open makes the directory when it is missing (mode 0711: everybody may reach the CA certificate in it by its name, and
// nothing else in it is readable to others), locks it, and reads or writes the host's identity. Of one that is there it takes the right to list it from others.
// It refuses a directory that another process uses, that a newer Pinion wrote, that others may change, or that holds somebody else's files:
// the directory is Pinion's alone, and Purge removes all of it.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o711); err != nil {
		return nil, fmt.Errorf("data directory: %w; choose another with --data-dir", err)
	}
	if err := cmp.Or(checkOwner(path), checkForeignFiles(path)); err != nil {
		return nil, err
	}
	lock, err := acquireLock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, err
	}
	id, err := readIdentity(filepath.Join(path, identityFile))
	if err != nil {
		lock.Close()
		return nil, err
	}
	listed, err := hideNames(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Dir{Path: path, HostID: id.HostID, PoolID: id.PoolID, lock: lock, Listed: listed}, nil
}

// OpenReadOnly returns a data directory without the lock: for what only reads it, also while a process uses it. It refuses what is not a
// data directory.
func OpenReadOnly(path string) (*Dir, error) {
	if err := checkIsDataDir(path); err != nil {
		return nil, err
	}
	id, err := readIdentity(filepath.Join(path, identityFile))
	if err != nil {
		return nil, err
	}
	return &Dir{Path: path, HostID: id.HostID, PoolID: id.PoolID}, nil
}

// checkIsDataDir refuses a directory without an identity, and one of somebody else's.
func checkIsDataDir(path string) error {
	if _, err := os.Stat(filepath.Join(path, identityFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a data directory of pinion; name the one that `pinion up` used with --data-dir", path)
	}
	return checkOwner(path)
}

// Join is the path of a name inside the directory.
func (d *Dir) Join(name ...string) string { return filepath.Join(append([]string{d.Path}, name...)...) }

// Close unlocks the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// StopOwner sends SIGTERM to the process that uses the directory and waits until it has released the lock. Nil when no
// process uses it. It refuses what is not a data directory, because Purge may be next.
func StopOwner(ctx context.Context, path string) error {
	if err := checkIsDataDir(path); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return f.Close()
	}
	raw, err := os.ReadFile(f.Name())
	pid, bad := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || bad != nil {
		f.Close()
		return fmt.Errorf("%s is in use, but %s does not say by which process; stop that pinion yourself", path, f.Name())
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		f.Close()
		return fmt.Errorf("stopping pinion (process %d): %w", pid, err)
	}
	free := make(chan error, 1)
	go func() {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		free <- errors.Join(err, f.Close()) // closed before anybody is told: the next one locks at once
	}()
	select {
	case err := <-free:
		return err
	case <-ctx.Done():
		return fmt.Errorf("pinion (process %d) has not stopped: %w", pid, ctx.Err())
	}
}

func acquireLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := takeLock(f, time.Sleep); err != nil {
		f.Close()
		return nil, fmt.Errorf("data directory %s is in use by another pinion; stop that one, or choose another with --data-dir", filepath.Dir(path))
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
		f.Close()
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return f, nil
}

const (
	// lockPatience bounds the wait for a lock whose process has ended. A process that was killed while it started another one leaves a
	// child that has the lock until it runs its program, which takes seconds on a busy machine.
	lockPatience = 10 * time.Second
	lockPause    = 50 * time.Millisecond
)

// takeLock locks the file, unless the process that it names lives and has the lock.
func takeLock(f *os.File, pause func(time.Duration)) error {
	for waited := time.Duration(0); ; waited += lockPause {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || waited >= lockPatience || ownerLives(f) {
			return err
		}
		pause(lockPause)
	}
}

// ownerLives reports whether the process in a lock file lives, or may.
func ownerLives(f *os.File) bool {
	text := make([]byte, 32)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return err != nil || pid <= 0 || !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

func writePID(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// ownFiles may be in a directory that is not Pinion's yet. The keys of a server are put there before a snapshot is restored.
var ownFiles = []string{lockFile, "lost+found", "seal.key", "unlock.age"}

// checkForeignFiles accepts a directory of Pinion's, an empty one, one with the keys for a snapshot, and what a first start leaves that was
// cut short.
func checkForeignFiles(path string) error {
	if _, err := os.Stat(filepath.Join(path, identityFile)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	for _, e := range entries {
		if !slices.Contains(ownFiles, e.Name()) && !strings.HasPrefix(e.Name(), atomicfile.TempPrefix) {
			return fmt.Errorf("%s holds files that are not Pinion's (%s); name an empty or a new directory with --data-dir", path, e.Name())
		}
	}
	return nil
}

func readIdentity(path string) (identity, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		id := identity{Format: Format, HostID: NewID(), PoolID: NewID()}
		return id, writeIdentity(path, id)
	}
	if err != nil {
		return identity{}, fmt.Errorf("data directory: %w", err)
	}
	var id identity
	if err := json.Unmarshal(raw, &id); err != nil {
		return identity{}, fmt.Errorf("%s is damaged (%w); restore it from a backup, or move the data directory away to start afresh", path, err)
	}
	if id.Format > Format {
		return identity{}, fmt.Errorf("%s has format %d, this pinion knows up to %d: the directory was written by a newer version; start that version", path, id.Format, Format)
	}
	if len(id.HostID) != 32 || len(id.PoolID) != 32 {
		return identity{}, fmt.Errorf("%s is damaged (host id %q, pool id %q); restore it from a backup, or move the data directory away to start afresh", path, id.HostID, id.PoolID)
	}
	return id, nil
}

func writeIdentity(path string, id identity) error {
	raw, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(raw, '\n'), 0o600)
}

// NewID makes an id of 32 hex digits, as ECS has them.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
