package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a directory that somebody else made or may change: who may rename what is in it would choose the programs that pinion
// runs as root, and the process that StopOwner ends. A link has to be the user's or root's as well, for its owner may have it lead elsewhere later.
func checkOwner(path string) error {
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(path)
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		owner := int(info.Sys().(*syscall.Stat_t).Uid)
		switch {
		case owner != 0 && owner != os.Geteuid():
			return fmt.Errorf("%s belongs to user %d, who could change everything in it; choose another with --data-dir, or `chown -hR %d %s` once you know what is in it", path, owner, os.Geteuid(), path)
		case info.IsDir() && info.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("%s has the mode %04o: others could change everything in it; choose another with --data-dir, or `chmod 0711 %s` once you know what is in it", path, info.Mode().Perm(), path)
		}
	}
	return nil
}

// hideNames takes the right to list the directory from others, as a directory has it that was made by hand, and returns the mode that it had then; 0 without a change. The
// names in it are those of volumes, of certificates and of tasks.
func hideNames(path string) (had fs.FileMode, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("data directory: %w", err)
	}
	mode := info.Mode().Perm()
	if mode&0o044 == 0 {
		return 0, nil
	}
	if err := os.Chmod(path, mode&^0o044); err != nil {
		return 0, fmt.Errorf("data directory: others may list it (mode %04o), which cannot be changed: %w; choose another with --data-dir", mode, err)
	}
	return mode, nil
}
