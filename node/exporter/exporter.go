// Package exporter exports what a host measures of its GPUs, its containers and itself as metrics of Prometheus. GPUs have the names and
// labels of NVIDIA's dcgm-exporter, containers those of cAdvisor, so that dashboards for these show tasks of Pinion. That of the cluster is missing:
// which one a host serves is in the state, and who reads that adds it.
package exporter

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/gpu"
	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
)

// Config has the sources of an exporter. All of it is required.
type Config struct {
	Host       func() spec.Host           // as it describes itself
	GPUs       func() gpu.Inventory       // with what is remembered of their health
	Usage      func() gpu.LatestUsage     // of the GPUs
	LastXid    func(uuid string) uint64   // the number of the last error of a GPU; 0: none
	Containers func() []*task.Container   // of all tasks of the host
	Use        UsageFunc                  // what a running container uses
	Expires    func() time.Time           // when the host's certificate ends; zero: it has none
	Disk       func() (free, total int64) // bytes of the file system with the data directory; total 0: not known
	// AccessLogDropped counts the lines that the access log of the host's proxy could not take.
	AccessLogDropped func() uint64
}

// UsageFunc measures a running container. runtime.ErrNotFound when it does not run.
type UsageFunc func(ctx context.Context, containerID string) (runtime.Usage, error)

const (
	// fresh is the time for which one reading of the containers serves further scrapes.
	fresh = 5 * time.Second
	// readTimeout bounds the reading of all containers: those of which nothing is known by then are missing in a scrape.
	readTimeout = 4 * time.Second
	// readAtOnce bounds the containers that are read at the same time.
	readAtOnce = 8
)

// Exporter is a prometheus.Collector. It is safe for concurrent use.
type Exporter struct {
	config Config

	mu         sync.Mutex // also held while containers are read: scrapes share one reading
	containers []prometheus.Metric
	readAt     time.Time
}

var _ prometheus.Collector = (*Exporter)(nil)

// New makes the exporter of a host.
func New(c Config) *Exporter { return &Exporter{config: c} }

// Describe describes nothing: which labels a metric has depends on what it is of.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything that is known now.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	host := e.config.Host()
	for _, m := range e.ofHost(&host) {
		ch <- m
	}
	containers := described(e.config.Containers())
	for _, m := range e.ofGPUs(&host, containers) {
		ch <- m
	}
	for _, m := range e.ofContainers(containers) {
		ch <- m
	}
}

// ofHost is about the host itself. What node_exporter has of a machine it does not repeat.
func (e *Exporter) ofHost(host *spec.Host) []prometheus.Metric {
	var all metrics
	all.gauge("pinion_host_info", "The host: always 1.", 1, labels{{"host", host.Name}, {"host_id", host.ID}, {"version", host.Version}, {"runtime", host.Runtime}})
	if until := e.config.Expires(); !until.IsZero() {
		all.gauge("pinion_certificate_expiry_seconds", "Seconds until the certificate of the host ends. It is renewed before.", time.Until(until).Seconds(), nil)
	}
	if free, total := e.config.Disk(); total > 0 {
		all.gauge("pinion_data_directory_free_bytes", "Free bytes of the file system with the data directory.", float64(free), nil)
		all.gauge("pinion_data_directory_size_bytes", "Bytes of the file system with the data directory.", float64(total), nil)
	}
	all.counter("pinion_access_log_dropped_total", "Lines that the access log of the proxy could not take: its disk is slow or full.", float64(e.config.AccessLogDropped()), nil)
	return all.list
}

// described are the descriptions of containers, with what they have of GPUs.
func described(containers []*task.Container) []container {
	all := make([]container, 0, len(containers))
	for _, c := range containers {
		d := task.Describe(c)
		options := d.Task.SchedulingOptions()
		family, _, _ := strings.Cut(d.Task.Definition, ":")
		_, service, _ := strings.Cut(d.Task.Group, "service:")
		of := labels{
			{"team", options.Team}, {"task", d.Task.ID}, {"service", service}, {"family", family}, {"container", c.Def.Name}, {"namespace", d.Task.Cluster}, {"pod", d.Task.ID},
		}
		all = append(all, container{of: c, is: d, labels: of})
	}
	return all
}

// container is a container of a task of this host.
type container struct {
	of     *task.Container
	is     task.Description
	labels labels
}

// share is the container's share of a GPU; nil: what it has it has alone.
func (c *container) share() *spec.GPUShare {
	for i := range c.is.Task.Containers {
		if known := &c.is.Task.Containers[i]; known.Name == c.of.Def.Name {
			return known.Share
		}
	}
	return nil
}

// labels are names and values, in the order in which they are shown. An empty value is none.
type labels [][2]string

// with are the labels with further ones: names and values in turn.
func (l labels) with(pairs ...string) labels {
	all := append(make(labels, 0, len(l)+len(pairs)/2), l...)
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, [2]string{pairs[i], pairs[i+1]})
	}
	return all
}

// metrics collects metrics whose labels differ.
type metrics struct{ list []prometheus.Metric }

func (m *metrics) gauge(name, help string, value float64, l labels) {
	m.add(prometheus.GaugeValue, name, help, value, l)
}

func (m *metrics) counter(name, help string, value float64, l labels) {
	m.add(prometheus.CounterValue, name, help, value, l)
}

// add adds a sample.
func (m *metrics) add(kind prometheus.ValueType, name, help string, value float64, l labels) {
	desc, values := l.describe(name, help)
	m.list = append(m.list, prometheus.MustNewConstMetric(desc, kind, value, values...))
}

// describe describes a metric with the labels, and has their values.
func (l labels) describe(name, help string) (desc *prometheus.Desc, values []string) {
	names := make([]string, 0, len(l))
	for _, pair := range l {
		if pair[1] != "" {
			names, values = append(names, pair[0]), append(values, metric.LabelValue(pair[1]))
		}
	}
	return prometheus.NewDesc(name, help, names, nil), values
}
