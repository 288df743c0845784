package host

import (
	"cmp"
	"time"

	"pinion/api/cli"
	"pinion/node/containerd"
	"pinion/node/containerd/images"
	"pinion/node/logs"
	"pinion/node/machine"
	"pinion/server/history"
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
	d.KeepTasks = cmp.Or(d.KeepTasks, 30*24*time.Hour)
	d.KeepTasksCount = cmp.Or(d.KeepTasksCount, 2_000_000)
	d.KeepTasksBytes = cmp.Or(d.KeepTasksBytes, 1024*mib)
	return d
}

// historyLimits bound what a host keeps of ended tasks while it is a server.
func historyLimits(d cli.DiskConfig) history.Limits {
	return history.Limits{Age: d.KeepTasks, Count: d.KeepTasksCount, Bytes: d.KeepTasksBytes}
}

func (h *host) imageLimits() images.Limits {
	d := h.config.Disk
	return images.Limits{High: float64(d.ImagesHigh) / 100, Low: float64(d.ImagesLow) / 100, MaxAge: d.ImageMaxAge, Floor: d.MinFree, UploadRate: d.ImageUploadRate}
}

func (h *host) containerLogLimits() containerd.LogLimits {
	return containerd.LogLimits{Container: h.config.Disk.ContainerLogs, Task: h.config.Disk.TaskLogs, Floor: h.config.Disk.MinFree}
}

// hostLogLimits has logs of ended tasks removed well before the floor stops those of running tasks.
func (h *host) hostLogLimits() logs.Limits {
	return logs.Limits{Bytes: h.config.Disk.Logs, Free: 2 * h.config.Disk.MinFree}
}
