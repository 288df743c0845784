package datadir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pinion/node/filetree"

	"golang.org/x/sys/unix"
)

// Purge removes the directory with everything in it. What is still mounted inside is unmounted first. Close stays to
// be called.
func (d *Dir) Purge() error {
	if err := unmountUnder(d.Path); err != nil {
		return err
	}
	return filetree.Remove(context.Background(), d.Path)
}

// mountPoint undoes the kernel's spelling of blanks in its list of mounts.
var mountPoint = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// unmountUnder unmounts all mounts below the directory, the deepest first.
func unmountUnder(dir string) error {
	dir, err := filepath.EvalSymlinks(dir) // the kernel lists mounts by their real paths
	if err != nil {
		return err
	}
	raw, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	var below []string
	for line := range strings.Lines(string(raw)) {
		if point := mountPoint.Replace(strings.Fields(line)[1]); strings.HasPrefix(point, dir+"/") {
			below = append(below, point)
		}
	}
	slices.Sort(below)
	for _, point := range below {
		// Where a mount below it is shared with the host, unmounting it here would unmount the host's.
		if err := unix.Mount("", point, "", unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("making %s private: %w", point, err)
		}
	}
	for _, point := range slices.Backward(below) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", point, err)
		}
	}
	return nil
}
