package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Disk is a host's own disk: an ext4 file system in a file of the testbed, which takes only as much space as is written. A
// host of a testbed without disks has one of size 0, which refuses faults: they would harm what shares the machine's disk.
type Disk struct {
	size  int64
	image string // the file
	mount string // where it is mounted
}

// NewDisk makes a disk of so many bytes in a file beside its mount point, which it makes too, for what runs outside of a testbed.
func NewDisk(mount string, size int64) (Disk, error) {
	d := Disk{size: size, image: mount + ".img", mount: mount}
	if err := d.create(); err != nil {
		return d, errors.Join(fmt.Errorf("a disk at %s: %w", mount, err), d.Delete())
	}
	return d, nil
}

// errNoDisk refuses a fault of a disk that a host shares with all others.
var errNoDisk = errors.New("this host has no disk of its own: give the testbed a Config.Disk")

// createDisks gives each host a disk of its own, if the testbed has disks.
func (b *Testbed) createDisks() error {
	for _, h := range b.hosts {
		if err := h.Disk.create(); err != nil {
			return fmt.Errorf("a disk for %s: %w", h.Name, err)
		}
	}
	return nil
}

func (d Disk) create() error {
	if d.size == 0 {
		return nil
	}
	image, err := os.Create(d.image)
	if err != nil {
		return err
	}
	if err := errors.Join(image.Truncate(d.size), image.Close()); err != nil {
		return err
	}
	if err := runCommand("mkfs.ext4", "-q", "-F", "-m", "0", d.image); err != nil { // -m 0: nothing is set aside for root, which pinion is
		return err
	}
	if err := os.Mkdir(d.mount, 0o711); err != nil {
		return err
	}
	return runCommand("mount", "-o", "loop", d.image, d.mount)
}

// Delete takes the disk away with all that is on it. It may be repeated.
func (d Disk) Delete() error {
	return errors.Join(unmountUnder(d.mount), os.RemoveAll(d.mount), os.RemoveAll(d.image))
}

// Freeze makes the disk hang: a process that writes to it waits, and cannot even be killed, until Thaw.
func (d Disk) Freeze() error {
	if d.size == 0 {
		return errNoDisk
	}
	return d.ioctl(freezeFS)
}

// Thaw ends Freeze.
func (d Disk) Thaw() error { return d.ioctl(thawFS) }

// FIFREEZE and FITHAW of linux/fs.h.
const (
	freezeFS = 0xC0045877
	thawFS   = 0xC0045878
)

// ioctl asks something of the file system. A command for it would be late by what it takes to start one on a busy machine.
func (d Disk) ioctl(request uint) error {
	mount, err := os.Open(d.mount)
	if err != nil {
		return err
	}
	defer mount.Close()
	if err := unix.IoctlSetInt(int(mount.Fd()), request, 0); err != nil {
		return &os.PathError{Op: "freeze or thaw", Path: d.mount, Err: err}
	}
	return nil
}

// blockSize is the least growth of a file of the disk.
const blockSize = 4096

// filler is the file that Fill makes.
func (d Disk) filler() string { return filepath.Join(d.mount, "filler") }

// Fill takes all the space that is left.
func (d Disk) Fill() error {
	if d.size == 0 {
		return errNoDisk
	}
	file, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for end, piece := int64(0), int64(64<<20); piece >= blockSize; {
		switch err := unix.Fallocate(int(file.Fd()), 0, end, piece); {
		case errors.Is(err, unix.ENOSPC):
			piece /= 2
		case err != nil:
			return fmt.Errorf("filling %s: %w", d.mount, err)
		default:
			end += piece
		}
	}
	return nil
}

// Free gives the space back that Fill took.
func (d Disk) Free() error { return os.Remove(d.filler()) }

// reset ends Freeze and Fill; what was not done is no error.
func (d Disk) reset() error {
	if d.size == 0 {
		return nil
	}
	_ = d.Thaw()
	if err := d.Free(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
