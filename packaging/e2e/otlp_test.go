package e2e

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// otlpCollector keeps the names of what it gets.
type otlpCollector struct {
	mu      sync.Mutex
	metrics []string
	spans   []string // with the task before them
}

func (c *otlpCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := gzip.NewReader(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	content, err := io.ReadAll(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/metrics":
		var message metricspb.ExportMetricsServiceRequest
		err = proto.Unmarshal(content, &message)
		for _, metric := range message.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
			c.metrics = append(c.metrics, metric.GetName())
		}
	case "/v1/traces":
		var message collectorpb.ExportTraceServiceRequest
		err = proto.Unmarshal(content, &message)
		for _, span := range message.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			c.spans = append(c.spans, span.GetAttributes()[0].GetValue().GetStringValue()+" "+span.GetName())
		}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *otlpCollector) has(metrics, spans []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	lacks := func(have, want []string) bool {
		return slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(have, name) })
	}
	return !lacks(c.metrics, metrics) && !lacks(c.spans, spans)
}

// A host that leads pushes its metrics, those of the pool, and how each task has started and stopped.
func TestACollectorIsToldOfAHostAndItsTasks(t *testing.T) {
	collector := &otlpCollector{}
	server := httptest.NewServer(collector)
	t.Cleanup(server.Close)
	h := up(t, "--gpus", "sim:2xh100", "--otlp-endpoint", server.URL)
	metrics := []string{"DCGM_FI_DEV_GPU_UTIL", "pinion_hosts", "pinion_raft_term", "pinion_api_requests_total"}
	eventually(t, "the collector is told of the host and the pool", func() bool { return collector.has(metrics, nil) })
	task := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpus", "1", "pinion/self", "--", "pinion", "pause"))
	spans := []string{task + " task start", task + " place", task + " send", task + " pull images", task + " start containers"}
	eventually(t, "the collector is told of the start", func() bool { return collector.has(metrics, spans) })
	h.pinion(t, "stop", task)
	spans = append(spans, task+" task stop", task+" stop containers", task+" release")
	eventually(t, "the collector is told of the stop", func() bool { return collector.has(metrics, spans) })
}
