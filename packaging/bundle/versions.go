package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// removeOldVersions removes versions other than home that nothing needs: no process runs from them, and they are not the one that
// was used before this. That one stays because containerd remembers, for each container, the path of the shim it was
// made with.
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

// runningExecutables are the paths of the programs that run on this host.
func runningExecutables() ([]string, error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, link := range links {
		// A kernel thread has none, and a process may end while we look.
		if path, err := os.Readlink(link); err == nil {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
