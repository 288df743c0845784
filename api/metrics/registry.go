// Package metrics serves what hosts and the pool measure to Prometheus, and tells it where all of that is.
package metrics

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// Registry has the metrics of a host. It is safe for concurrent use.
type Registry struct {
	Process *prometheus.Registry // of Pinion itself: the runtime, the API, Raft, and what its proxy carries for the services of any cluster
	Host    *prometheus.Registry // of the machine and of tasks; all are of the cluster that the host serves
	Pool    *prometheus.Registry // of the pool while this host leads it

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// NewRegistry makes a registry with the metrics of the Go runtime, of the process and of the requests to its API.
func NewRegistry() *Registry {
	r := &Registry{
		Process: prometheus.NewRegistry(), Host: prometheus.NewRegistry(), Pool: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pinion_api_requests_total", Help: "Requests of clients to this host, by operation and status.",
		}, []string{"operation", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pinion_api_request_seconds", Help: "Time until this host began to answer a request of a client, by operation: with what other hosts took for it.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"operation"}),
	}
	r.Process.MustRegister(r.requests, r.seconds, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Gatherer gathers what there is of this host, with the cluster that it serves.
func (r *Registry) Gatherer(cluster func() string) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		own, err := r.Host.Gather()
		label := &dto.LabelPair{Name: proto.String(clusterLabel), Value: proto.String(cluster())}
		for _, family := range own {
			for _, sample := range family.Metric {
				sample.Label = append(sample.Label, label)
			}
		}
		process, processErr := r.Process.Gather()
		return append(own, process...), errors.Join(err, processErr)
	})
}

// noOperation stands for the operation of requests whose path there is not.
const noOperation = "(none)"

// Observe counts a request of a client. operation is one of the tables of the API, so there is a bound to them; a nil registry counts nothing.
func (r *Registry) Observe(operation string, status int, took time.Duration) {
	if r == nil {
		return
	}
	if operation == "" {
		operation = noOperation
	}
	r.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	r.seconds.WithLabelValues(operation).Observe(took.Seconds())
}
