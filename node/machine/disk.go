package machine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Disk is the file system at a path.
type Disk struct {
	Size int64 // bytes
	Free int64 // bytes, for users
}

// MeasureDisk measures the file system at a path.
func MeasureDisk(path string) (Disk, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return Disk{}, fmt.Errorf("ask for the free space of %s: %w", path, err)
	}
	return Disk{Size: int64(stat.Blocks) * stat.Bsize, Free: int64(stat.Bavail) * stat.Bsize}, nil
}
