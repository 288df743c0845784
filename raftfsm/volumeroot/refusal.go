package volumeroot

import (
	"fmt"
	"path"
	"strings"
)

// Refusal returns the reason why a host with those roots does not give the volume, with what would have to change; empty when it does. writer is a container that
// writes to it; empty: none does.
func Refusal(roots []Root, volume, sourcePath, writer string) string {
	root, _, found := Find(roots, sourcePath)
	switch {
	case !found && path.IsAbs(sourcePath):
		dir := path.Clean(sourcePath)
		if path.Ext(dir) != "" {
			dir = path.Dir(dir) // it may well be a file, and a host gives directories
		}
		return fmt.Sprintf("volume %s: %s is in no directory that this host gives to tasks: start the host with pinion up --volume %s, or use a path of %s/",
			volume, sourcePath, dir, Local)
	case !found:
		name, _, _ := strings.Cut(sourcePath, "/")
		return fmt.Sprintf("volume %s: this host has no directory by the name %s: start the host with pinion up --volume %s=DIR, or write %s/%s, a directory of its own on each host", volume, name, name, Local, sourcePath)
	case root.ReadOnly && writer != "":
		return fmt.Sprintf("volume %s: this host gives %s to be read only, and container %s writes to it: set readOnly in its mountPoints", volume, root, writer)
	}
	return ""
}
