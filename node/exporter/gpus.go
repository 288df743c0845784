package exporter

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/gpu"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
)

// megabyte is the unit of traffic over links, in bytes.
const megabyte = 1e6

// measured are the metrics of a GPU that its driver measures, by the names of dcgm-exporter. What a model does not measure is missing.
var measured = []struct {
	name, help string
	of         func(*gpu.Usage, *gpu.Device) *float64
	factor     float64
}{
	{"DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.Utilization }, 1},
	{"DCGM_FI_PROF_SM_ACTIVE", "The ratio of cycles an SM has at least 1 warp assigned.", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.SMActivity }, 0.01},
	{"DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.MemoryUsedMiB }, 1},
	{"DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", freeMemory, 1},
	{"DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.PowerWatts }, 1},
	{"DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.Celsius }, 1},
	{"DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.ClockMHz }, 1},
	{"DCGM_FI_PROF_PCIE_TX_BYTES", "The rate of data transmitted over the PCIe bus (in bytes per second).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.PCIeSent }, megabyte},
	{"DCGM_FI_PROF_PCIE_RX_BYTES", "The rate of data received over the PCIe bus (in bytes per second).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.PCIeReceived }, megabyte},
	{"DCGM_FI_PROF_NVLINK_TX_BYTES", "The rate of data transmitted over NVLink (in bytes per second).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.NVLinkSent }, megabyte},
	{"DCGM_FI_PROF_NVLINK_RX_BYTES", "The rate of data received over NVLink (in bytes per second).", func(u *gpu.Usage, _ *gpu.Device) *float64 { return u.NVLinkReceived }, megabyte},
}

// freeMemory is the unallocated memory of a device with memory of its own.
func freeMemory(u *gpu.Usage, d *gpu.Device) *float64 {
	if u.MemoryUsedMiB == nil || d.MemoryMiB == 0 {
		return nil
	}
	free := max(0, float64(d.MemoryMiB)-*u.MemoryUsedMiB)
	return &free
}

// ofGPUs is about the GPUs of the host. What was measured while another task had the GPU has no labels of the one that has it now.
func (e *Exporter) ofGPUs(host *spec.Host, containers []container) []prometheus.Metric {
	var all metrics
	inventory, usage := e.config.GPUs(), e.config.Usage()
	for i := range inventory.Devices {
		d := &inventory.Devices[i]
		of := labelsOf(host, inventory.Driver, d)
		owned := of
		owners := ownersOf(d.UUID, containers)
		if len(owners) == 1 && owners[0].share() == nil {
			owned = of.ofTask(owners[0])
		}
		all.gauge("pinion_gpu_healthy", "1 when the GPU may get tasks by what its host knows of it, else 0.", metric.Bool(d.Health == gpu.Healthy), of)
		all.gauge("pinion_gpu_allocated", "1 when a task has the GPU, alone or with others, else 0.", metric.Bool(len(owners) > 0), owned)
		all.gauge("DCGM_FI_DEV_XID_ERRORS", "Value of the last XID error encountered since the host was started; 0: none.", float64(e.config.LastXid(d.UUID)), of)
		for _, owner := range owners {
			if share := owner.share(); share != nil {
				all.gauge("pinion_gpu_share_memory_bytes", "Memory of the GPU that the container may use beside others.", float64(share.MemoryMiB<<20), of.ofTask(owner))
			}
		}
		at := slices.IndexFunc(usage.GPUs, func(u gpu.RecentUsage) bool { return u.UUID == d.UUID })
		if at < 0 {
			continue
		}
		if len(owners) == 1 && (owners[0].is.StartedAt.IsZero() || usage.At.Sub(owners[0].is.StartedAt) < gpu.UsageInterval) {
			owned = of
		}
		all.gauge("pinion_gpu_measured_timestamp_seconds", "When the GPU was measured, as seconds since 1970.", float64(usage.At.UnixMilli())/1000, of)
		for _, m := range measured {
			if value := m.of(&usage.GPUs[at].Usage, d); value != nil {
				all.gauge(m.name, m.help, *value*m.factor, owned)
			}
		}
	}
	if !usage.At.IsZero() {
		all.gauge("pinion_gpu_sample_age_seconds", "Seconds since the GPUs were measured last. Of what is older than half a minute nothing is exported.", time.Since(usage.At).Seconds(), nil)
	}
	return all.list
}

// labelsOf are the labels that dcgm-exporter gives a GPU. Hostname is the name that its dashboards have, hostname that of its
// newest versions.
func labelsOf(host *spec.Host, driver string, d *gpu.Device) labels {
	of := labels{
		{"gpu", strconv.Itoa(d.Index)}, {"UUID", d.UUID}, {"pci_bus_id", d.PCI}, {"device", "nvidia" + strconv.Itoa(d.Minor)}, {"modelName", d.Model},
		{"Hostname", host.Name}, {"hostname", host.Name}, {"DCGM_FI_DRIVER_VERSION", driver},
	}
	if m := d.MIGDevice; m != nil {
		of = of.with("GPU_I_PROFILE", m.Profile, "GPU_I_ID", strconv.Itoa(m.Index))
	}
	return of
}

// ofTask are the labels of a GPU with those of the container that has it.
func (l labels) ofTask(c *container) labels {
	return append(append(make(labels, 0, len(l)+len(c.labels)+1), l...), c.labels...).with("hpc_job", c.is.Task.Group)
}

// ownersOf are the containers that have a GPU, or a share of it.
func ownersOf(uuid string, containers []container) (owners []*container) {
	for i := range containers {
		if c := &containers[i]; c.is.Report.Status != spec.Stopped && slices.Contains(c.of.GPUs, uuid) {
			owners = append(owners, c)
		}
	}
	return owners
}
