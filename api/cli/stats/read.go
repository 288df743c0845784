package stats

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// maxAsks bounds the hosts that are asked at the same time.
const maxAsks = 16

// location is what a container is, and where.
type location struct {
	Task      string `json:"task"`
	Container string `json:"container"`
	Family    string `json:"family"`
	Service   string `json:"service,omitempty"`
	Team      string `json:"team,omitempty"`
	Cluster   string `json:"cluster"`
	Host      string `json:"host"` // its name
	HostID    string `json:"hostId"`
}

// containerUse is what a running container uses. What is nil is not known.
type containerUse struct {
	location
	CPUPercent  *float64 `json:"cpuPercent"`       // 100 for each core that is busy
	Memory      *float64 `json:"memoryBytes"`      // without what the kernel can drop at once
	MemoryLimit *float64 `json:"memoryLimitBytes"` // nil: that of its task or host
	Received    *float64 `json:"receivedBytes"`    // since it started; nil: it has the network of its host, or that of another container of its task
	Sent        *float64 `json:"sentBytes"`        // likewise
	Read        *float64 `json:"readBytes"`        // from block devices, since it started
	Written     *float64 `json:"writtenBytes"`     // likewise
	Processes   *float64 `json:"processes"`
	Restarts    *float64 `json:"restarts"`       // by its restart policy
	GPUs        int      `json:"gpus"`           // that it has alone and that are measured
	GPUPercent  *float64 `json:"gpuPercent"`     // utilization, on average over these
	GPUMemory   *float64 `json:"gpuMemoryBytes"` // used of all of these

	readAt       float64  // when its host has read it, as seconds since 1970
	cpuSeconds   *float64 // since it started
	utilizations float64  // of its GPUs, added up
}

// reading is the CPU time of a container when its host has read it.
type reading struct {
	cpu, at float64 // seconds
	percent *float64
}

// reader reads again and again.
type reader struct {
	named  []string           // tasks, by the beginning of their ids; none: all
	before map[string]reading // by task and container
}

// read asks the hosts that have tasks, and notes those that do not tell.
func (r *reader) read(ctx context.Context, inv *invocation.Invocation) ([]containerUse, error) {
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	hosts = slices.DeleteFunc(hosts, func(h client.Host) bool { return h.Tasks == 0 || !h.LostAt.IsZero() })
	texts, problems := make([][]byte, len(hosts)), make([]error, len(hosts))
	var asks errgroup.Group
	asks.SetLimit(maxAsks)
	for i := range hosts {
		asks.Go(func() error {
			texts[i], problems[i] = client.HostMetrics(ctx, inv.Client, hosts[i].ID)
			return nil
		})
	}
	_ = asks.Wait()
	now, all := map[string]reading{}, []containerUse{}
	for i := range hosts {
		if problems[i] == nil {
			var found []containerUse
			found, problems[i] = r.ofHost(&hosts[i], texts[i], now)
			all = append(all, found...)
		}
		if problems[i] != nil {
			inv.Notef("%s: %v", hosts[i].Name, problems[i])
		}
	}
	r.before = now
	slices.SortFunc(all, func(a, b containerUse) int {
		return cmp.Or(format.CompareNames(a.Host, b.Host), strings.Compare(a.Task, b.Task), strings.Compare(a.Container, b.Container))
	})
	return all, ctx.Err()
}

// ofHost is what the metrics of a host say of its containers. now gets what is compared with the next reading.
func (r *reader) ofHost(host *client.Host, text []byte, now map[string]reading) ([]containerUse, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("its metrics cannot be read: %w", err)
	}
	containers := map[string]*containerUse{}
	for metric, take := range takers {
		for _, sample := range families[metric].GetMetric() {
			if u := r.containerOf(containers, host, sample); u != nil {
				take(u, sample.GetGauge().GetValue()+sample.GetCounter().GetValue())
			}
		}
	}
	all := make([]containerUse, 0, len(containers))
	for key, u := range containers {
		if u.cpuSeconds != nil {
			now[key] = r.rate(key, *u.cpuSeconds, u.readAt)
			u.CPUPercent = now[key].percent
		}
		if u.GPUs > 0 {
			average := u.utilizations / float64(u.GPUs)
			u.GPUPercent = &average
		}
		all = append(all, *u)
	}
	return all, nil
}

// rate is how much CPU a container uses, by the time between two readings of its host. The same reading again says what it said.
func (r *reader) rate(key string, cpu, at float64) reading {
	is := reading{cpu: cpu, at: at}
	was, known := r.before[key]
	switch {
	case known && was.at == at:
		return was
	case known && at > was.at && cpu >= was.cpu:
		percent := 100 * (cpu - was.cpu) / (at - was.at)
		is.percent = &percent
	}
	return is
}

// containerOf returns the container that a sample belongs to; nil if it belongs to none, or to one that was not requested.
func (r *reader) containerOf(containers map[string]*containerUse, host *client.Host, sample *dto.Metric) *containerUse {
	labels := map[string]string{}
	for _, l := range sample.Label {
		labels[l.GetName()] = l.GetValue()
	}
	task := labels["task"]
	if task == "" || len(r.named) > 0 && !slices.ContainsFunc(r.named, func(name string) bool { return strings.HasPrefix(task, name) }) {
		return nil
	}
	key := task + "/" + labels["container"]
	if containers[key] == nil {
		containers[key] = &containerUse{location: location{
			Task: task, Container: labels["container"], Family: labels["family"], Service: labels["service"], Team: labels["team"], Cluster: labels["cluster"], Host: host.Name, HostID: host.ID,
		}}
	}
	return containers[key]
}

// takers say what a metric of a container means.
var takers = map[string]func(u *containerUse, value float64){
	"container_last_seen":                    func(u *containerUse, v float64) { u.readAt = v },
	"container_cpu_usage_seconds_total":      func(u *containerUse, v float64) { add(&u.cpuSeconds, v) },
	"container_memory_working_set_bytes":     func(u *containerUse, v float64) { add(&u.Memory, v) },
	"container_spec_memory_limit_bytes":      func(u *containerUse, v float64) { add(&u.MemoryLimit, v) },
	"container_network_receive_bytes_total":  func(u *containerUse, v float64) { add(&u.Received, v) },
	"container_network_transmit_bytes_total": func(u *containerUse, v float64) { add(&u.Sent, v) },
	"container_fs_reads_bytes_total":         func(u *containerUse, v float64) { add(&u.Read, v) },
	"container_fs_writes_bytes_total":        func(u *containerUse, v float64) { add(&u.Written, v) },
	"container_processes":                    func(u *containerUse, v float64) { add(&u.Processes, v) },
	"pinion_container_restarts_total":        func(u *containerUse, v float64) { add(&u.Restarts, v) },
	"DCGM_FI_DEV_GPU_UTIL":                   func(u *containerUse, v float64) { u.GPUs++; u.utilizations += v },
	"DCGM_FI_DEV_FB_USED":                    func(u *containerUse, v float64) { add(&u.GPUMemory, v*(1<<20)) },
}

// add adds what is of another interface or GPU.
func add(to **float64, value float64) {
	if *to == nil {
		*to = new(float64)
	}
	**to += value
}
