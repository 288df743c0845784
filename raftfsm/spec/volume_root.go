package spec

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// LocalVolumes is the name of the volume root that every host has: a directory in its data directory, unless
// `pinion up --volume local=DIR` names another.
const LocalVolumes = "local"

var volumeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidVolumeName reports whether a volume root can have the name.
func ValidVolumeName(name string) bool { return volumeName.MatchString(name) }

// VolumeRoot is a directory of a host that tasks may mount, with everything below it: `pinion up --volume`. A task names it by its
// path or by its name.
type VolumeRoot struct {
	Name     string `json:"name,omitempty"`
	Path     string `json:"path,omitempty"` // absolute; empty for one that goes by its name alone
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// String is the root in the form of `pinion up --volume`.
func (r VolumeRoot) String() string {
	text := r.Path
	switch {
	case r.Path == "":
		text = r.Name
	case r.Name != "":
		text = r.Name + "=" + r.Path
	}
	if r.ReadOnly {
		text += ":ro"
	}
	return text
}

// FindVolumeRoot finds the root that a volume's sourcePath is in, and the path below it, "." for the root itself. sourcePath is an
// absolute path, NAME, or NAME/path.
func FindVolumeRoot(roots []VolumeRoot, sourcePath string) (root VolumeRoot, below string, found bool) {
	clean := path.Clean(sourcePath)
	name, rest, _ := strings.Cut(clean, "/")
	for _, root := range roots {
		if !path.IsAbs(clean) {
			if root.Name == name {
				return root, path.Clean("./" + rest), true
			}
			continue
		}
		if root.Path == "" {
			continue
		}
		if rest, inside := strings.CutPrefix(clean+"/", root.Path+"/"); inside {
			return root, path.Clean("./" + rest), true
		}
	}
	return VolumeRoot{}, "", false
}

// volumeUse is a volume of a task that is a directory of its host, and the container that writes to it, if one does.
type volumeUse struct{ volume, sourcePath, writer string }

// hostVolumes are the volumes of the definition that are directories of the host.
func (d *TaskDefinition) hostVolumes() (all []volumeUse) {
	for _, v := range d.Volumes {
		if v.Host == nil || v.Host.SourcePath == "" {
			continue
		}
		use := volumeUse{volume: v.Name, sourcePath: v.Host.SourcePath}
		for i := range d.Containers {
			for _, m := range d.Containers[i].MountPoints {
				if m.SourceVolume == v.Name && !m.ReadOnly {
					use.writer = d.Containers[i].Name
				}
			}
		}
		all = append(all, use)
	}
	return all
}

func (v volumeUse) refusedBy(h *Host) string {
	root, _, found := FindVolumeRoot(h.Volumes, v.sourcePath)
	switch {
	case !found && path.IsAbs(v.sourcePath):
		dir := path.Clean(v.sourcePath)
		if path.Ext(dir) != "" {
			dir = path.Dir(dir) // it may well be a file, and a host gives directories
		}
		return fmt.Sprintf("volume %s: %s is in no directory that this host gives to tasks: start the host with pinion up --volume %s, or use a path of %s/",
			v.volume, v.sourcePath, dir, LocalVolumes)
	case !found:
		name, _, _ := strings.Cut(v.sourcePath, "/")
		return fmt.Sprintf("volume %s: this host has no directory by the name %s: start the host with pinion up --volume %s=DIR, or write %s/%s, a directory of its own on each host", v.volume, name, name, LocalVolumes, v.sourcePath)
	case root.ReadOnly && v.writer != "":
		return fmt.Sprintf("volume %s: this host gives %s to be read only, and container %s writes to it: set readOnly in its mountPoints", v.volume, root, v.writer)
	}
	return ""
}
