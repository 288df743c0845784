package host

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"pinion/api/cli/exit"
	"pinion/api/cli/unlock"
	"pinion/node/datadir"
	"pinion/packaging/atomicfile"
	"pinion/packaging/keystore"
)

// Unlock changes the unlock secret of the host in a data directory, which must not be running.
func Unlock(_ context.Context, c unlock.Config) (err error) {
	dir, err := datadir.Open(c.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	switch c.Action {
	case unlock.Set:
		err = keystore.Set(dir.Path, c.Secret)
	case unlock.Change:
		err = keystore.Change(dir.Path, c.Secret, c.NewSecret)
	case unlock.Off:
		err = keystore.Off(dir.Path, c.Secret)
	}
	return lockedExit(err)
}

// lockedExit gives an error of the keystore its exit code, at which systemd does not start pinion again and again.
func lockedExit(err error) error {
	if errors.Is(err, keystore.ErrUnlock) {
		return &exit.Error{Code: exit.Locked, Err: err}
	}
	return err
}

// directory is the data directory of a host with its private keys.
type directory struct {
	*datadir.Dir
	keys *keystore.Store
	link *os.File // what client.json is a link to; nil when it is a file
}

// unlock opens the private keys before anything else is started or changed, and forgets the secret.
func (d *directory) unlock(secret []byte) (err error) {
	d.keys, err = keystore.Open(d.Path, secret)
	clear(secret)
	if err != nil || !d.keys.Locked() {
		return lockedExit(err)
	}
	// The memory has the keys: neither a core dump nor a debugger of another user may show it. Programs that this process starts have this not.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep the keys out of core dumps: %w", err)
	}
	return nil
}

// writeClientFile writes the access key of this host for clients on this machine. Beside encrypted keys it stays in memory: client.json is a link to a
// file of this process, which ends with it.
func (d *directory) writeClientFile(content []byte) error {
	path := d.Join("client.json")
	if !d.keys.Locked() {
		return atomicfile.Write(path, content, 0o600)
	}
	fd, err := unix.MemfdCreate("pinion-client.json", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("keep the access key of this host in memory: %w", err)
	}
	d.link = os.NewFile(uintptr(fd), "client.json")
	_, err = d.link.Write(content)
	if err := errors.Join(err, d.link.Chmod(0o600)); err != nil {
		return fmt.Errorf("keep the access key of this host in memory: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), path)
}

// Close unlocks the directory for other processes, and removes the link of client.json.
func (d *directory) Close() error {
	var err error
	if d.link != nil {
		err = errors.Join(os.Remove(d.Join("client.json")), d.link.Close())
	}
	return errors.Join(err, d.Dir.Close())
}
