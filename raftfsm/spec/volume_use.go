package spec

import (
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/volumeroot"
)

// hostUse is something of its host that a definition names, and why a host does not give it; empty: it does.
type hostUse interface{ refusedBy(h *Host) string }

// volumeUse is a volume of a task that is a directory of its host, and the container that writes to it, if one does.
type volumeUse struct{ volume, sourcePath, writer string }

// hostVolumes are the volumes of the definition that are directories of the host.
func (d *TaskDefinition) hostVolumes() (all []hostUse) {
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
	return volumeroot.Refusal(h.Volumes, v.volume, v.sourcePath, v.writer)
}

// deviceUse is a device of the host that a container asks for.
type deviceUse struct{ container, path string }

// logUse is where a container has its host send its log.
type logUse struct{ logdriver.Use }

func (l logUse) refusedBy(h *Host) string { return l.RefusedBy(h.LogDestinations, h.Name, h.Address) }

// fileUse is the environment files of a container.
type fileUse struct{ envfile.Use }

func (f fileUse) refusedBy(h *Host) string { return f.RefusedBy(h.Name, h.Buckets) }

// hostUses are the devices and the files of the host that the container asks for, and where its log goes.
func (c *ContainerDefinition) hostUses() (all []hostUse) {
	if len(c.EnvironmentFiles) > 0 {
		all = append(all, fileUse{envfile.Use{Container: c.Name, Files: c.EnvironmentFiles}})
	}
	if c.LinuxParameters != nil {
		for _, d := range c.LinuxParameters.Devices {
			all = append(all, deviceUse{c.Name, d.HostPath})
		}
	}
	if use, is := c.LogConfiguration.Use(c.Name); is {
		all = append(all, logUse{use})
	}
	return all
}

func (d deviceUse) refusedBy(h *Host) string {
	return linux.DeviceRefusal(h.Devices, d.container, d.path, h.Name)
}
