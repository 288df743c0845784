package metadata

import (
	"context"
	"net/http"
	"time"

	"pinion/node/runtime"
	"pinion/node/task"
)

// The form of Docker's statistics: https://docs.docker.com/reference/api/engine/version/v1.45/#tag/Container/operation/ContainerStats

type statisticsDocument struct {
	Name         string                     `json:"name"`
	ID           string                     `json:"id"`
	Read         time.Time                  `json:"read"`
	PreRead      time.Time                  `json:"preread"`
	CPU          cpuDocument                `json:"cpu_stats"`
	PreCPU       cpuDocument                `json:"precpu_stats"`
	Memory       memoryDocument             `json:"memory_stats"`
	Processes    processesDocument          `json:"pids_stats"`
	Processors   int                        `json:"num_procs"`
	Networks     map[string]trafficDocument `json:"networks,omitempty"`
	NetworkRates *ratesDocument             `json:"network_rate_stats,omitempty"`
}

type cpuDocument struct {
	Usage  cpuUsageDocument `json:"cpu_usage"`
	System int64            `json:"system_cpu_usage"` // ns
	CPUs   int              `json:"online_cpus"`
}

type cpuUsageDocument struct {
	Total  int64 `json:"total_usage"` // ns, as all
	User   int64 `json:"usage_in_usermode"`
	Kernel int64 `json:"usage_in_kernelmode"`
}

type memoryDocument struct {
	Usage    int64            `json:"usage"`
	MaxUsage int64            `json:"max_usage"`
	Limit    int64            `json:"limit"`
	Stats    map[string]int64 `json:"stats"`
}

type processesDocument struct {
	Current int `json:"current"`
}

type trafficDocument struct {
	ReceivedBytes   uint64 `json:"rx_bytes"`
	ReceivedPackets uint64 `json:"rx_packets"`
	ReceiveErrors   uint64 `json:"rx_errors"`
	ReceiveDropped  uint64 `json:"rx_dropped"`
	TransmitBytes   uint64 `json:"tx_bytes"`
	TransmitPackets uint64 `json:"tx_packets"`
	TransmitErrors  uint64 `json:"tx_errors"`
	TransmitDropped uint64 `json:"tx_dropped"`
}

type ratesDocument struct {
	Received    float64 `json:"rx_bytes_per_sec"`
	Transmitted float64 `json:"tx_bytes_per_sec"`
}

func (c *container) statistics(w http.ResponseWriter, r *http.Request) {
	document, err := c.measure(r.Context(), c.of)
	if err != nil {
		c.service.config.Log.Debug("a container was not told what it uses", "container", c.of.ID, "error", err)
		reply(w, http.StatusInternalServerError, "the container does not run, or its host cannot measure it")
		return
	}
	reply(w, http.StatusOK, document)
}

// taskStatistics has null for a container that does not run.
func (c *container) taskStatistics(w http.ResponseWriter, r *http.Request) {
	all := map[string]*statisticsDocument{}
	for _, other := range task.Describe(c.of).Siblings {
		all[other.ID], _ = c.measure(r.Context(), other)
	}
	reply(w, http.StatusOK, all)
}

// measure samples the usage of a container, beside the earlier sample: clients compare the two.
func (c *container) measure(ctx context.Context, of *task.Container) (*statisticsDocument, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	before, now, err := c.service.samples.take(ctx, of.ID, c.service.config.Usage)
	if err != nil {
		return nil, err
	}
	limit := of.Def.Memory << 20
	if limit == 0 {
		limit = now.MemoryMax
	}
	return &statisticsDocument{
		Name: of.ID, ID: of.ID, Read: now.At.UTC(), PreRead: before.At.UTC(), CPU: cpu(now), PreCPU: cpu(before), Processors: now.CPUs,
		Memory:    memoryDocument{Usage: now.Memory, MaxUsage: max(now.PeakMemory, now.Memory), Limit: limit, Stats: map[string]int64{}},
		Processes: processesDocument{now.Processes}, Networks: networks(now), NetworkRates: rates(before, now),
	}, nil
}

func cpu(u runtime.Usage) cpuDocument {
	return cpuDocument{Usage: cpuUsageDocument{int64(u.CPU), int64(u.UserCPU), int64(u.KernelCPU)}, System: int64(u.MachineCPU), CPUs: u.CPUs}
}

func networks(u runtime.Usage) map[string]trafficDocument {
	all := map[string]trafficDocument{}
	for name, t := range u.Interfaces {
		all[name] = trafficDocument(t)
	}
	return all
}

// rates are the rates between two samples; nil where nothing is known.
func rates(before, now runtime.Usage) *ratesDocument {
	seconds := now.At.Sub(before.At).Seconds()
	if now.Interfaces == nil || before.Interfaces == nil || seconds <= 0 {
		return nil
	}
	var r ratesDocument
	for name, is := range now.Interfaces {
		was := before.Interfaces[name]
		r.Received += float64(is.ReceivedBytes-min(was.ReceivedBytes, is.ReceivedBytes)) / seconds // a restarted container begins anew
		r.Transmitted += float64(is.TransmitBytes-min(was.TransmitBytes, is.TransmitBytes)) / seconds
	}
	return &r
}
