package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/keystore"
)

// existing is the directory, or the nearest one above it that is there already.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func checkDiskRoom(_ context.Context, h *Host) []Finding {
	dir := existing(h.DataDir)
	disk, err := h.Machine.Disk(dir)
	if err != nil {
		return []Finding{failed(err.Error(), "choose another --data-dir")}
	}
	floor := h.MinFree(disk.Size)
	found := fmt.Sprintf("%s of %s are free in %s, and %s stay free (--min-free)", size(disk.Free), size(disk.Size), dir, size(floor))
	do := "free some, or choose a --data-dir on a larger disk; `pinion up --max-logs` and `--image-gc-high` bound what is kept"
	switch {
	case disk.Free < floor:
		return []Finding{failed(found+": no image is pulled and no log is written", do)}
	case disk.Free < 4*floor:
		return []Finding{warning(found, do)}
	case disk.Files > 0 && disk.Spare*20 < disk.Files:
		return []Finding{warning(fmt.Sprintf("%d of %d inodes are free in %s: images have many files", disk.Spare, disk.Files, dir), do)}
	}
	return []Finding{ok(found)}
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

func checkDiskType(_ context.Context, h *Host) []Finding {
	dir := existing(h.DataDir)
	disk, err := h.Machine.Disk(dir)
	if err != nil {
		return nil // said above
	}
	switch disk.Type {
	case unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
		return []Finding{failed(dir+" is on a network file system: locks and syncs are not those of a disk", "choose a --data-dir on a local disk, ext4 or xfs")}
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return []Finding{warning(dir+" is in memory: the host is forgotten at the next boot", "choose a --data-dir on a local disk, ext4 or xfs")}
	case unix.OVERLAYFS_SUPER_MAGIC:
		return []Finding{warning(dir+" is on overlayfs, as in a container: overlays on it may not work, and it ends with the container", "mount a volume there, or choose another --data-dir")}
	}
	return []Finding{ok(dir + " is on a local file system")}
}

// slowSync is the time of a small synced write above which a server holds the others up.
const slowSync = 50 * time.Millisecond

func checkDiskSync(_ context.Context, h *Host) []Finding {
	dir := existing(h.DataDir)
	took, err := h.Machine.Sync(dir)
	switch {
	case err != nil:
		return []Finding{failed(fmt.Sprintf("a file in %s cannot be written and synced: %v", dir, err), "run it as root, or choose another --data-dir")}
	case took > slowSync:
		return []Finding{warning(fmt.Sprintf("a synced write takes %s: changes wait for that, and a slow server may lose its leadership", took.Round(time.Millisecond)),
			"use a disk of its own for the data directory, an SSD for servers, and see what else writes there (iostat -x)")}
	}
	return []Finding{ok(fmt.Sprintf("a synced write takes %s", took.Round(10*time.Microsecond)))}
}

// secrets are the files of a data directory that only the owner may read.
var secrets = []string{"client.json", "seal.key", "raft", "snapshots", "audit", "pki/*.pem", "pki/*.key"}

func checkDataDir(_ context.Context, h *Host) []Finding {
	info, err := os.Stat(h.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{ok(h.DataDir + " is not there yet: `pinion up` makes it")}
	}
	if err != nil {
		return []Finding{failed(err.Error(), "choose another --data-dir")}
	}
	if f := h.checkDirMode(info); f != nil {
		return []Finding{*f}
	}
	if _, err := os.Stat(filepath.Join(h.DataDir, "pinion.json")); err != nil {
		if entries, err := os.ReadDir(h.DataDir); err == nil && len(entries) == 0 {
			return []Finding{ok(h.DataDir + " is empty")}
		}
		return []Finding{failed(h.DataDir+" is no data directory of pinion, and is not empty: pinion refuses it", "name another directory with --data-dir")}
	}
	if open := h.readableSecrets(); len(open) > 0 {
		return []Finding{failed("others may read "+strings.Join(open, ", "), "chmod go= "+strings.Join(open, " ")+", and replace keys that may have been read (docs/security.md)").fixedBy(append([]string{"chmod", "go="}, open...)...)}
	}
	return h.checkKeys()
}

// checkKeys looks whether the keys of the host are encrypted.
func (h *Host) checkKeys() []Finding {
	inClear, locked, err := keystore.InClear(h.DataDir)
	closed := h.DataDir + " and its secrets are closed to others"
	switch {
	case err != nil:
		return []Finding{failed(err.Error(), "run it as root, or put back a backup of the file")}
	case locked && len(inClear) > 0:
		return []Finding{failed("the host has an unlock secret, and keys in clear: "+strings.Join(inClear, ", "), "stop pinion and run `pinion unlock set` again with the same secret")}
	case locked:
		return []Finding{ok(closed + "; its keys are encrypted")}
	case len(inClear) > 0:
		return []Finding{ok(closed + "; its keys are in clear on the disk (`pinion unlock set` encrypts them)")}
	}
	return []Finding{ok(closed)}
}

// checkDirMode checks owner and mode of the data directory; others may pass through it to the CA's certificate.
func (h *Host) checkDirMode(info fs.FileInfo) *Finding {
	f := Finding{Level: OK}
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		f = failed(h.DataDir+" is no directory", "name another one with --data-dir")
	case known && int(stat.Uid) != h.Machine.User():
		f = failed(fmt.Sprintf("%s belongs to user %d", h.DataDir, stat.Uid), fmt.Sprintf("chown %d %s; not with -R, which would change the files of images and volumes", h.Machine.User(), h.DataDir))
	case info.Mode().Perm()&^0o711 != 0:
		f = failed(fmt.Sprintf("%s has the mode %04o: others may list or change it", h.DataDir, info.Mode().Perm()), "chmod 0711 "+h.DataDir)
		if info.Mode().Perm()&0o022 == 0 { // else others may have put something there, and a person has to look
			f = f.fixedBy("chmod", "0711", h.DataDir)
		}
	}
	if f.Level == OK {
		return nil
	}
	return &f
}

// readableSecrets are the secrets that others than the owner may read.
func (h *Host) readableSecrets() (open []string) {
	for _, pattern := range secrets {
		paths, _ := filepath.Glob(filepath.Join(h.DataDir, pattern))
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
				open = append(open, path)
			}
		}
	}
	return open
}

// checkLeftovers looks for what a host has left that was not taken away in order.
func checkLeftovers(_ context.Context, h *Host) []Finding {
	m := &h.Machine
	groups := len(m.glob("sys/fs/cgroup/pinion/*/cgroup.procs")) + len(m.glob("sys/fs/cgroup/memory/pinion/*/cgroup.procs"))
	_, mine := os.Stat(filepath.Join(h.DataDir, "pinion.json"))
	switch {
	case h.running():
		return []Finding{ok("pinion runs")}
	case groups > 0 && mine == nil:
		return []Finding{ok(fmt.Sprintf("pinion does not run; this machine has %d groups of tasks, which run on without it", groups))}
	case groups > 0 || m.exists("sys/class/net/pinion0") && mine != nil:
		return []Finding{warning("there are control groups or a network of a host whose data directory is not "+h.DataDir, "`pinion down --purge --data-dir DIR` with the directory of that host; where it is lost, reboot the machine")}
	}
	return []Finding{ok("nothing is left of an earlier host")}
}
