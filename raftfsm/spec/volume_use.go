package spec

import (
	"fmt"
	"path"
	"strings"

	"pinion/raftfsm/linux"
	"pinion/raftfsm/volumeroot"
)

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
	root, _, found := volumeroot.Find(h.Volumes, v.sourcePath)
	switch {
	case !found && path.IsAbs(v.sourcePath):
		dir := path.Clean(v.sourcePath)
		if path.Ext(dir) != "" {
			dir = path.Dir(dir) // it may well be a file, and a host gives directories
		}
		return fmt.Sprintf("volume %s: %s is in no directory that this host gives to tasks: start the host with pinion up --volume %s, or use a path of %s/",
			v.volume, v.sourcePath, dir, volumeroot.Local)
	case !found:
		name, _, _ := strings.Cut(v.sourcePath, "/")
		return fmt.Sprintf("volume %s: this host has no directory by the name %s: start the host with pinion up --volume %s=DIR, or write %s/%s, a directory of its own on each host", v.volume, name, name, volumeroot.Local, v.sourcePath)
	case root.ReadOnly && v.writer != "":
		return fmt.Sprintf("volume %s: this host gives %s to be read only, and container %s writes to it: set readOnly in its mountPoints", v.volume, root, v.writer)
	}
	return ""
}

// deviceUse is a device of the host that a container asks for.
type deviceUse struct{ container, path string }

// hostDevices are the devices of the host that the container asks for.
func (c *ContainerDefinition) hostDevices() (all []deviceUse) {
	if c.LinuxParameters != nil {
		for _, d := range c.LinuxParameters.Devices {
			all = append(all, deviceUse{c.Name, d.HostPath})
		}
	}
	return all
}

func (d deviceUse) refusedBy(h *Host) string {
	if linux.AllowsDevice(h.Devices, d.path) {
		return ""
	}
	return fmt.Sprintf("container %s has the device %s, which host %s does not give to tasks: start the host with pinion up --device %s, or remove it", d.container, d.path, h.Name, d.path)
}
