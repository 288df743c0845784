package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/node/machine"
	"pinion/packaging/atomicfile"
)

const (
	// machineFile tells a copy of the directory from the directory: which machine it is on, and the inode of its lock, which
	// no copy has.
	machineFile = "machine"
	// startsFile counts the starts of this host. The pool knows the count too: who counts less is an older copy.
	startsFile = "starts"
)

// ErrCopied refuses a directory that was copied from another one.
var ErrCopied = errors.New("this data directory is a copy: it was made on another machine, or in another place of this one")

// Claim claims the host's identity for this process, and sets Place and Starts. A copy of a data directory is refused
// (ErrCopied): both hosts would be the same one to their pool.
func (d *Dir) Claim() (err error) {
	var lock unix.Stat_t
	if err := unix.Fstat(int(d.lock.Fd()), &lock); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	self := fmt.Sprintf("%s %d", digest(machineID()), lock.Ino)
	if err := d.checkMachine(self); err != nil {
		return err
	}
	d.Location = digest(self, machine.Boot().ID)
	d.Starts, err = d.countStart()
	return err
}

func (d *Dir) checkMachine(self string) error {
	path := d.Join(machineFile)
	known, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Write(path, []byte(self+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if strings.TrimSpace(string(known)) != self {
		return fmt.Errorf("%s: %w. Two hosts with one identity would take each other's tasks. To add this machine to the pool, start it with an empty --data-dir, "+
			"--join ADDR and --token T. If it takes the place of the other one, which will never run again, delete %s and start once more", d.Path, ErrCopied, path)
	}
	return nil
}

func (d *Dir) countStart() (int64, error) {
	path := d.Join(startsFile)
	starts := int64(0)
	switch text, err := os.ReadFile(path); {
	case err == nil:
		if starts, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return 0, fmt.Errorf("%s is damaged (%w): restore it from a backup, or remove this host from its pool and join anew with an empty --data-dir", path, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("data directory: %w", err)
	}
	starts++
	err := atomicfile.Write(path, fmt.Appendf(nil, "%d\n", starts), 0o600)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return starts, nil // a full disk keeps no host from starting; the next start counts as this one
	}
	return starts, err
}

// machineID identifies this machine: the id that systemd made for its installation, and that of its board or virtual
// machine, which a hypervisor changes in a clone.
func machineID() string {
	installation, _ := os.ReadFile("/etc/machine-id")
	board, _ := os.ReadFile("/sys/class/dmi/id/product_uuid")
	return strings.TrimSpace(string(installation)) + " " + strings.TrimSpace(string(board))
}

func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}
