package exporter

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/node/proxy"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/traffic"
)

const (
	// maxTrafficSets bounds the sets of labels, each of them a task in a target group: users choose how many there are.
	maxTrafficSets = 2000
	// maxTrafficBytes bounds their text: a server takes 8 MiB of metrics from another host.
	maxTrafficBytes = 4 << 20
	// sampleBytes bounds a sample without the values of its labels: names, the bound of a bucket, the number.
	sampleBytes = 160
	// histogramSamples is the number of samples of one histogram: its buckets, the sum and the count.
	histogramSamples = len(proxy.Bounds) + 3
)

// Traffic is a prometheus.Collector of the requests that the proxy of a host has carried. They are of the clusters of their services, which need
// not be that of the host, so that it is no part of Exporter: each sample says its cluster. It is safe for concurrent use.
type Traffic struct {
	Proxy interface{ Metrics() []proxy.Metrics }
}

var _ prometheus.Collector = Traffic{}

// Describe describes nothing: which labels a metric has depends on what it is of.
func (t Traffic) Describe(chan<- *prometheus.Desc) {}

// Collect sends the proxy's counters: first the counts, then as many histograms as the bound has room for.
func (t Traffic) Collect(ch chan<- prometheus.Metric) {
	rows := rowsOf(t.Proxy.Metrics())
	var all metrics
	left, omitted := maxTrafficBytes, 0
	take := func(i, samples int, add func(*metrics, *row)) {
		cost := samples * (sampleBytes + rows[i].bytes())
		if i >= maxTrafficSets || cost > left {
			omitted += samples
			return
		}
		left -= cost
		add(&all, &rows[i])
	}
	for i := range rows {
		take(i, rows[i].counts(), (*metrics).countRequests)
	}
	for i := range rows {
		take(i, 2*histogramSamples, (*metrics).timeRequests)
	}
	all.gauge("pinion_proxy_omitted_series", "Series of pinion_proxy_* that are left out, as there are too many.", float64(omitted), nil)
	for _, m := range all.list {
		ch <- m
	}
}

// row is the traffic of one task as a target of a group; without a task, the traffic that no task got.
type row struct {
	labels labels
	proxy.Metrics
}

// rowsOf are the metrics by their labels, in the order of these, of groups for which there were requests. Targets with the same labels, such as two
// ports of a task, are one row: Prometheus takes no set of labels twice.
func rowsOf(all []proxy.Metrics) []row {
	used := map[string]bool{} // by group
	for i := range all {
		if all[i].Requests > 0 || all[i].InFlight > 0 || all[i].Waiting > 0 {
			used[all[i].Group] = true
		}
	}
	byLabels := map[string]*row{}
	for i := range all {
		m := &all[i]
		target, _ := traffic.ParseTargetID(m.Target)
		ofGroup := m.Target == ""
		if ofGroup && !used[m.Group] || !ofGroup && m.Requests == 0 && m.InFlight == 0 {
			continue
		}
		r := row{Metrics: *m, labels: labels{
			{"cluster", m.Owner.Cluster}, {"team", m.Owner.Team}, {"service", m.Owner.Service}, {"task", target.Task}, {"target_group", m.Name},
		}}
		if ofGroup {
			r.InFlight = 0 // those of its targets say it
		}
		key := r.key()
		if known := byLabels[key]; known != nil {
			known.add(&r.Metrics)
			continue
		}
		byLabels[key] = &r
	}
	rows := make([]row, 0, len(byLabels))
	for _, key := range slices.Sorted(maps.Keys(byLabels)) {
		rows = append(rows, *byLabels[key])
	}
	return rows
}

// key is the same for the same labels as they are exported.
func (r *row) key() string {
	var key strings.Builder
	for _, pair := range r.labels {
		key.WriteString(metric.LabelValue(pair[1]))
		key.WriteByte(0)
	}
	return key.String()
}

// bytes is the size of the values of the labels, which may have to be escaped.
func (r *row) bytes() (n int) {
	for _, pair := range r.labels {
		n += len(strconv.Quote(metric.LabelValue(pair[1])))
	}
	return n
}

func (r *row) add(m *proxy.Metrics) {
	for class := range m.ByClass {
		r.ByClass[class] += m.ByClass[class]
	}
	r.Errors, r.InFlight, r.Waiting = r.Errors+m.Errors, r.InFlight+m.InFlight, r.Waiting+m.Waiting
	for _, pair := range [][2]*proxy.Histogram{{&r.Latency, &m.Latency}, {&r.FirstByte, &m.FirstByte}} {
		for i := range pair[1].Counts {
			pair[0].Counts[i] += pair[1].Counts[i]
		}
		pair[0].Sum += pair[1].Sum
	}
}

// counts bounds the samples that countRequests adds.
func (r *row) counts() int { return len(r.ByClass) + 3 }

func (m *metrics) countRequests(r *row) {
	for class, n := range r.ByClass {
		if n == 0 {
			continue
		}
		code := "" // of what has no status
		if class > 0 {
			code = strconv.Itoa(class) + "xx"
		}
		m.counter("pinion_proxy_requests_total", "Requests that have ended, by class of status; connections of TCP without one.", float64(n), r.labels.with("code", code))
	}
	m.counter("pinion_proxy_errors_total", "Requests answered 5xx, or broken off by the target.", float64(r.Errors), r.labels)
	m.gauge("pinion_proxy_in_flight", "Requests that are under way.", float64(r.InFlight), r.labels)
	if target, _ := traffic.ParseTargetID(r.Target); target.Task == "" {
		m.gauge("pinion_proxy_waiting", "Requests that wait for a healthy target.", float64(r.Waiting), r.labels)
	}
}

func (m *metrics) timeRequests(r *row) {
	m.histogram("pinion_proxy_request_seconds", "Time from a request to the end of its answer.", &r.Latency, r.labels)
	m.histogram("pinion_proxy_first_byte_seconds", "Time from a request until its target began to answer.", &r.FirstByte, r.labels)
}

func (m *metrics) histogram(name, help string, h *proxy.Histogram, l labels) {
	buckets := make(map[float64]uint64, len(proxy.Bounds))
	count := uint64(0)
	for i, n := range h.Counts {
		if count += n; i < len(proxy.Bounds) {
			buckets[proxy.Bounds[i].Seconds()] = count
		}
	}
	desc, values := l.describe(name, help)
	m.list = append(m.list, prometheus.MustNewConstHistogram(desc, count, h.Sum.Seconds(), buckets, values...))
}
