package host

import (
	"cmp"
	"time"

	"pinion/api/cli"
	"pinion/node/containerd"
	"pinion/node/containerd/images"
	"pinion/node/logs"
	"pinion/node/machine"
)

// limitDisk fills in the limits of the disk that the options leave out, for the size of the disk.
func (h *host) limitDisk() error {
	disk, err := machine.MeasureDisk(h.dir.Path)
	if err != nil {
		return err
	}
	h.config.Disk = diskDefaults(h.config.Disk, disk.Size)
	return nil
}

// diskDefaults fills in the limits that are 0. The floor is above the free space that the pool's state keeps for itself.
func diskDefaults(d cli.DiskConfig, size int64) cli.DiskConfig {
	const mib = 1 << 20
	d.MinFree = cmp.Or(d.MinFree, min(max(size/20, 128*mib), 1024*mib, size/4))
	d.Logs = cmp.Or(d.Logs, min(size/10, 100*1024*mib))
	d.TaskLogs = cmp.Or(d.TaskLogs, min(2048*mib, d.Logs/2))
	d.ContainerLogs = cmp.Or(d.ContainerLogs, min(1024*mib, d.TaskLogs))
	d.ImageMaxAge = cmp.Or(d.ImageMaxAge, 30*24*time.Hour)
	return d
}

func (h *host) imageLimits() images.Limits {
	d := h.config.Disk
	return images.Limits{High: float64(d.ImagesHigh) / 100, Low: float64(d.ImagesLow) / 100, MaxAge: d.ImageMaxAge, Floor: d.MinFree}
}

func (h *host) containerLogLimits() containerd.LogLimits {
	return containerd.LogLimits{Container: h.config.Disk.ContainerLogs, Task: h.config.Disk.TaskLogs, Floor: h.config.Disk.MinFree}
}

// hostLogLimits has logs of ended tasks removed well before the floor stops those of running tasks.
func (h *host) hostLogLimits() logs.Limits {
	return logs.Limits{Bytes: h.config.Disk.Logs, Free: 2 * h.config.Disk.MinFree}
}
