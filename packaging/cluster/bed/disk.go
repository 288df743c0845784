package bed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// diskImage is the file that a host's own disk is made of.
func (h *Host) diskImage() string { return h.base + ".img" }

// diskMount is where a host's own disk is mounted.
func (h *Host) diskMount() string { return h.base + ".disk" }

// createDisks gives each host a disk of its own, if the bed has disks: an ext4 file system in a file of the bed, which takes
// only as much room as is written.
func (b *Testbed) createDisks() error {
	if b.state.Disk == 0 {
		return nil
	}
	for _, h := range b.hosts {
		if err := h.createDisk(b.state.Disk); err != nil {
			return fmt.Errorf("a disk for %s: %w", h.Name, err)
		}
	}
	return nil
}

func (h *Host) createDisk(size int64) error {
	image, err := os.Create(h.diskImage())
	if err != nil {
		return err
	}
	if err := errors.Join(image.Truncate(size), image.Close()); err != nil {
		return err
	}
	if err := runCommand("mkfs.ext4", "-q", "-F", "-m", "0", h.diskImage()); err != nil { // -m 0: nothing is set aside for root, which pinion is
		return err
	}
	if err := os.Mkdir(h.diskMount(), 0o711); err != nil {
		return err
	}
	return runCommand("mount", "-o", "loop", h.diskImage(), h.diskMount())
}

// deleteDisk takes a host's disk away with all that is on it. It may be repeated.
func (h *Host) deleteDisk() error {
	return errors.Join(unmountUnder(h.diskMount()), os.RemoveAll(h.diskMount()), os.RemoveAll(h.diskImage()))
}

// errNoDisk is answered where a host would be harmed by what is done to the disk of all.
var errNoDisk = errors.New("this host has no disk of its own: give the bed a Plan.Disk")

// FreezeDisk makes the host's disk hang: who writes to it waits, and cannot even be killed, until Thaw.
func (h *Host) FreezeDisk() error {
	if h.testbed.state.Disk == 0 {
		return errNoDisk
	}
	return runCommand("fsfreeze", "--freeze", h.diskMount())
}

// ThawDisk lets a disk that hangs go on.
func (h *Host) ThawDisk() error { return runCommand("fsfreeze", "--unfreeze", h.diskMount()) }

// blockSize is what files of the disk grow by at least.
const blockSize = 4096

// fillerFile is the file that Fill makes.
func (h *Host) fillerFile() string { return filepath.Join(h.diskMount(), "filler") }

// FillDisk takes all the room that is left on the host's disk.
func (h *Host) FillDisk() error {
	if h.testbed.state.Disk == 0 {
		return errNoDisk
	}
	file, err := os.OpenFile(h.fillerFile(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for end, piece := int64(0), int64(64<<20); piece >= blockSize; {
		switch err := unix.Fallocate(int(file.Fd()), 0, end, piece); {
		case errors.Is(err, unix.ENOSPC):
			piece /= 2
		case err != nil:
			return fmt.Errorf("filling the disk of %s: %w", h.Name, err)
		default:
			end += piece
		}
	}
	return nil
}

// FreeDisk gives the room back that Fill took.
func (h *Host) FreeDisk() error { return os.Remove(h.fillerFile()) }

// FailWrites makes every write of the host's pinion to a file fail for a while, with the error "file too large". What
// pinion starts meanwhile fails like it, for ever; what it has started before is spared.
func (h *Host) FailWrites(d time.Duration) error {
	p, ok := h.process()
	if !ok {
		return fmt.Errorf("no pinion runs on %s", h.Name)
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(p.pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return err
	}
	none := limit
	none.Cur = 0
	if err := unix.Prlimit(p.pid, unix.RLIMIT_FSIZE, &none, nil); err != nil {
		return err
	}
	time.Sleep(d)
	return unix.Prlimit(p.pid, unix.RLIMIT_FSIZE, &limit, nil)
}

// repairDisk takes back what was done to the disk; what was not done is no error.
func (h *Host) repairDisk() error {
	if h.testbed.state.Disk == 0 {
		return nil
	}
	_ = h.ThawDisk()
	if err := h.FreeDisk(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
