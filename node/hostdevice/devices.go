// Package hostdevice gives containers the devices of this host that `pinion up --device` names. GPUs are none of them: a task gets its own by
// resourceRequirements alone, whatever path leads to them.
package hostdevice

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
	"pinion/raftfsm/linux"
)

// maxInDirectory bounds the devices of a directory that a container asks for.
const maxInDirectory = 128

// Allowed are the devices of this host that containers may have.
type Allowed struct {
	host  string   // its name, for errors
	given []string // as the operator names them
	real  []string // where these lead when the host starts: a link that changes later is not followed
	gpus  func(major uint32) bool
}

// Open checks the paths of `pinion up --device`. One that is not there yet is allowed as it stands, without links. An error names the option
// that is wrong.
func Open(hostName string, given []string, log *slog.Logger) (*Allowed, error) {
	a := &Allowed{host: hostName, given: given, gpus: isGPU}
	for _, path := range given {
		if err := linux.CheckDevice(path); err != nil {
			return nil, fmt.Errorf("--device %s: %w", path, err)
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			log.Warn("a device that tasks may have is not there", "device", path)
			real = path
		case err != nil:
			return nil, fmt.Errorf("--device %s: %w", path, err)
		}
		if err := linux.CheckDevice(real); err != nil {
			return nil, fmt.Errorf("--device %s leads to %s: %w", path, real, err)
		}
		a.real = append(a.real, real)
	}
	return a, nil
}

// Find finds the device, or those in the directory, that a container asks for.
func (a *Allowed) Find(d linux.Device) ([]runtime.Device, error) {
	if !linux.AllowsDevice(a.given, d.HostPath) {
		return nil, fmt.Errorf("host %s does not give the device %s to tasks: start it with pinion up --device %s", a.host, d.HostPath, d.HostPath)
	}
	real, info, err := a.open(d.HostPath)
	if err != nil {
		return nil, fmt.Errorf("host %s has no device %s for tasks: %w", a.host, d.HostPath, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		found, err := a.device(real, info, d.Path(), d.Access())
		if err != nil {
			return nil, fmt.Errorf("host %s does not give the device %s to tasks: %w", a.host, d.HostPath, err)
		}
		return []runtime.Device{found}, nil
	}
	all, err := a.directory(real, d)
	if err != nil {
		return nil, fmt.Errorf("host %s does not give the devices in %s to tasks: %w", a.host, d.HostPath, err)
	}
	return all, nil
}

// open resolves a path without opening the device. It has to lead to a device that the operator has named.
func (a *Allowed) open(path string) (real string, info unix.Stat_t, err error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return "", info, err
	}
	defer unix.Close(fd)
	if real, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err != nil {
		return "", info, err
	}
	if !linux.AllowsDevice(a.real, real) {
		return "", info, fmt.Errorf("it leads to %s: start the host with pinion up --device %s", real, real)
	}
	return real, info, unix.Fstat(fd, &info)
}

// directory are the character devices in a directory, wherever below it. Links in it are left out: what they lead to is asked for by its name.
func (a *Allowed) directory(real string, d linux.Device) (all []runtime.Device, err error) {
	err = filepath.WalkDir(real, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Type()&os.ModeCharDevice == 0 {
			return err
		}
		var info unix.Stat_t
		if err := unix.Lstat(path, &info); err != nil {
			return err
		}
		found, err := a.device(path, info, d.Path()+strings.TrimPrefix(path, real), d.Access())
		if err != nil {
			return err
		}
		if all = append(all, found); len(all) > maxInDirectory {
			return fmt.Errorf("there are more than %d: ask for them by their names", maxInDirectory)
		}
		return nil
	})
	if err == nil && len(all) == 0 {
		err = errors.New("there are none")
	}
	return all, err
}

// device checks the file that a path leads to: its numbers say which device it is, and its name does not.
func (a *Allowed) device(real string, info unix.Stat_t, path, access string) (runtime.Device, error) {
	major, minor := unix.Major(uint64(info.Rdev)), unix.Minor(uint64(info.Rdev))
	found := runtime.Device{
		Path: path, Major: int64(major), Minor: int64(minor), Access: access, Mode: os.FileMode(info.Mode).Perm(), UID: info.Uid, GID: info.Gid,
	}
	switch kind := info.Mode & unix.S_IFMT; {
	case kind == unix.S_IFBLK:
		found.Block = true
		return found, a.checkBlock(real, major, minor)
	case kind != unix.S_IFCHR:
		return found, fmt.Errorf("%s is no device", real)
	case a.gpus(major):
		return found, fmt.Errorf("%s is a GPU: a task gets its own by resourceRequirements alone", real)
	case major == 1 && slices.Contains([]uint32{1, 2, 4, 12}, minor):
		return found, fmt.Errorf("%s is the memory of the machine: who has it is root there", real)
	}
	return found, nil
}

// checkBlock: a disk is given by its own name alone, and never one that the host has mounted.
func (a *Allowed) checkBlock(real string, major, minor uint32) error {
	if !slices.Contains(a.real, real) {
		return fmt.Errorf("%s is a disk: name it itself, pinion up --device %s", real, real)
	}
	mounted, err := mountedDisks()
	if err != nil {
		return err
	}
	parts, err := partitions(blockDevices, fmt.Sprintf("%d:%d", major, minor))
	if err != nil {
		return err
	}
	for _, number := range append(parts, fmt.Sprintf("%d:%d", major, minor)) {
		if where := mounted[number]; where != "" {
			return fmt.Errorf("%s, or a partition of it, is mounted at %s: a task that writes to it would be root on the host", real, where)
		}
	}
	return nil
}
