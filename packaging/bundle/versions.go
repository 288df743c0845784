package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// removeOldVersions removes versions other than home that are not in use: no process runs from them, and they are not the
// previous version. The previous version stays because containerd records, for each container, the path of the shim that
// created it.
func removeOldVersions(dir, current string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	type version struct {
		path string
		used time.Time
	}
	var others []version
	for _, entry := range entries {
		info, err := entry.Info()
		path := filepath.Join(dir, entry.Name())
		if err == nil && entry.IsDir() && path != current {
			others = append(others, version{path, info.ModTime()})
		}
	}
	if len(others) < 2 {
		return nil
	}
	slices.SortFunc(others, func(a, b version) int { return b.used.Compare(a.used) })
	running, err := runningExecutables()
	if err != nil {
		return err
	}
	for _, old := range others[1:] {
		inUse := slices.ContainsFunc(running, func(exe string) bool { return strings.HasPrefix(exe, old.path+"/") })
		if inUse {
			continue
		}
		if err := os.RemoveAll(old.path); err != nil {
			return err
		}
	}
	return nil
}

// runningExecutables returns the paths of the programs that run on this host.
func runningExecutables() ([]string, error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, link := range links {
		// A kernel thread has no executable, and a process may exit during the scan.
		if path, err := os.Readlink(link); err == nil {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
