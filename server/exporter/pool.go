// Package exporter exports what the leader knows of the pool as metrics of Prometheus: hosts, GPUs, the queue, tasks and services.
package exporter

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/raftfsm"
	"pinion/raftfsm/metric"
)

const (
	// fresh is how long what was counted serves further scrapes.
	fresh = 5 * time.Second
	// restFactor is how many times as long as counting took nothing is counted anew: the leader of a pool with a million tasks has other work.
	restFactor = 20
	// maxSeries bounds the sets of labels of the metrics whose labels users choose, one by one: services, teams. What is beyond it is counted.
	maxSeries = 2000
)

// Config is what a Pool reads. All of it is required.
type Config struct {
	View      func() *raftfsm.View     // the state of the leader; nil: this host is none
	Connected func(hostID string) bool // whether a host was heard of lately
	Now       func() time.Time
}

// Pool is a prometheus.Collector. It is safe for concurrent use.
type Pool struct {
	config Config

	mu      sync.Mutex // also held while it counts: scrapes share one count
	metrics []prometheus.Metric
	next    time.Time // when it counts again
}

var _ prometheus.Collector = (*Pool)(nil)

// New makes the exporter of a pool.
func New(c Config) *Pool { return &Pool{config: c} }

// The metrics of a pool. GPUs are in exactly one state, hosts too: their sums are all that there are.
var (
	collected       = describe("pinion_pool_collected_timestamp_seconds", "When the pool was counted, as seconds since 1970: within five seconds, or longer in a pool that takes long to count.")
	omitted         = describe("pinion_pool_omitted_series", "Series of services and teams that are left out, as there are too many.")
	hosts           = describe("pinion_hosts", "Hosts by state: up, draining, down (not heard of) or lost (given up, without tasks).", "cluster", "state")
	hostUp          = describe("pinion_host_up", "1 when the leader hears of the host, else 0.", "cluster", "host", "host_id")
	hostGPUs        = describe("pinion_host_gpus", "GPUs of the host by state: see pinion_gpus.", "cluster", "host", "host_id", "state")
	gpus            = describe("pinion_gpus", "GPUs by state: allocated, shared (and some of it may be free), free, quarantined, unhealthy, partitioning, or draining, down or lost with their host.", "cluster", "model", "state")
	freeGPUs        = describe("pinion_hosts_by_free_gpus", "Hosts by the number of GPUs that are free there: what fits on one host.", "cluster", "gpus")
	tasks           = describe("pinion_tasks", "Tasks that are not stopped, by their last status.", "cluster", "team", "status")
	stopped         = describe("pinion_stopped_tasks", "Tasks that have stopped within the last ten minutes, by cause: OutOfMemory, GPUFault, or the stop code of ECS.", "cluster", "team", "cause")
	allocated       = describe("pinion_team_allocated_gpus", "GPUs that tasks have; a share counts for its part.", "cluster", "team")
	queueTasks      = describe("pinion_queue_tasks", "Tasks that wait for a place, by what they wait for: place, release (they are held) or dependency.", "cluster", "team", "reason")
	queueOldest     = describe("pinion_queue_oldest_seconds", "Seconds since the oldest task was submitted that waits for a place.", "cluster", "team")
	serviceTasks    = describe("pinion_service_tasks", "Tasks of the service by state: desired, running and pending.", "cluster", "team", "service", "state")
	serviceRollouts = describe("pinion_service_deployments", "Deployments of the service by rollout state.", "cluster", "team", "service", "state")
	serviceTargets  = describe("pinion_service_targets", "Targets of the service by what their hosts found last: healthy or unhealthy.", "cluster", "team", "service", "state")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe describes nothing: which metrics there are depends on the pool.
func (p *Pool) Describe(chan<- *prometheus.Desc) {}

// Collect sends what was counted, and counts before when that is too old.
func (p *Pool) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun := time.Now(); !begun.Before(p.next) {
		c := &count{config: p.config, view: p.config.View(), now: p.config.Now()}
		if c.view == nil {
			return
		}
		c.all()
		p.metrics = c.metrics
		p.next = time.Now().Add(max(fresh, restFactor*time.Since(begun)))
	}
	for _, m := range p.metrics {
		ch <- m
	}
}

// count is one counting of a pool.
type count struct {
	config  Config
	view    *raftfsm.View
	now     time.Time
	metrics []prometheus.Metric
	omitted int
}

func (c *count) all() {
	c.hosts()
	c.tasks()
	c.gauge(collected, float64(c.now.UnixMilli())/1000)
	c.gauge(omitted, float64(c.omitted))
}

// gauge adds a sample.
func (c *count) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	for i, text := range labels {
		labels[i] = metric.LabelValue(text)
	}
	c.metrics = append(c.metrics, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...))
}

// labelCounts counts by labels, with a bound.
type labelCounts[K comparable] map[K]float64

// add adds to the count of a key, unless there are too many keys: then it says how many samples are left out.
func (t labelCounts[K]) add(key K, n float64) (left int) {
	if _, known := t[key]; !known && len(t) >= maxSeries {
		return 1
	}
	t[key] += n
	return 0
}
