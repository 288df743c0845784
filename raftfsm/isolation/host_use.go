package isolation

import (
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/filesystem"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

// hostUse is something of its host that a definition names, and why a host does not give it; empty: it does.
type hostUse interface{ refusedBy(h *spec.Host) string }

// volumeUse is a volume of a task that is a directory of its host, and the container that writes to it, if one does.
type volumeUse struct{ volume, sourcePath, writer string }

// sharedUse is a volume that a task shares with others of its host.
type sharedUse struct{ volumeroot.SharedUse }

// fileSystemUse is a volume of a task in a file system that its host mounts.
type fileSystemUse struct{ filesystem.Volume }

func (u fileSystemUse) refusedBy(h *spec.Host) string { return u.RefusedBy(h.Name, h.FileSystems) }

// hostVolumes are the volumes of the definition that are directories of the host.
func hostVolumes(d *spec.TaskDefinition) (all []hostUse) {
	for _, v := range d.Volumes {
		switch {
		case v.EFS != nil:
			all = append(all, fileSystemUse{v.EFS.Volume(v.Name, writer(d, v.Name))})
		case v.Docker.Shared():
			all = append(all, sharedUse{volumeroot.SharedUse{Volume: v.Name, Writer: writer(d, v.Name), Makes: v.Docker.Makes()}})
		case v.Host != nil && v.Host.SourcePath != "":
			all = append(all, volumeUse{v.Name, v.Host.SourcePath, writer(d, v.Name)})
		}
	}
	return all
}

// writer is a container that writes to the volume; empty: none does.
func writer(d *spec.TaskDefinition, volume string) (name string) {
	for i := range d.Containers {
		for _, m := range d.Containers[i].MountPoints {
			if m.SourceVolume == volume && !m.ReadOnly {
				name = d.Containers[i].Name
			}
		}
	}
	return name
}

func (s sharedUse) refusedBy(h *spec.Host) string { return s.RefusedBy(h.Volumes, h.SharedVolumes) }

func (v volumeUse) refusedBy(h *spec.Host) string {
	return volumeroot.Refusal(h.Volumes, v.volume, v.sourcePath, v.writer)
}

// deviceUse is a device of the host that a container asks for.
type deviceUse struct{ container, path string }

// logUse is the destination to which a container has its host send its log.
type logUse struct{ logdriver.Forwarding }

func (l logUse) refusedBy(h *spec.Host) string {
	return l.RefusedBy(h.LogDestinations, h.Name, h.Address)
}

// fileUse is the environment files of a container.
type fileUse struct{ envfile.ContainerFiles }

func (f fileUse) refusedBy(h *spec.Host) string { return f.RefusedBy(h.Name, h.Buckets) }

// hostUses are the devices and the files of the host that the container asks for, and where its log goes.
func hostUses(c *spec.ContainerDefinition) (all []hostUse) {
	if len(c.EnvironmentFiles) > 0 {
		all = append(all, fileUse{envfile.ContainerFiles{Container: c.Name, Files: c.EnvironmentFiles}})
	}
	if c.LinuxParameters != nil {
		for _, d := range c.LinuxParameters.Devices {
			all = append(all, deviceUse{c.Name, d.HostPath})
		}
		if c.LinuxParameters.MaxSwap != nil {
			all = append(all, swapUse{c.Name})
		}
	}
	if use, is := c.LogConfiguration.Forwarding(c.Name); is {
		all = append(all, logUse{use})
	}
	return all
}

func (d deviceUse) refusedBy(h *spec.Host) string {
	return linux.DeviceRefusal(h.Devices, d.container, d.path, h.Name)
}

// swapUse is a limit of the swap of a container.
type swapUse struct{ container string }

func (u swapUse) refusedBy(h *spec.Host) string {
	if h.CountsSwap {
		return ""
	}
	return linux.SwapRefusal(u.container, h.Name)
}
