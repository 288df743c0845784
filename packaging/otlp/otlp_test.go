package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"pinion/raftfsm/spec"
	"pinion/server/tracer"
)

// request is what the collector got.
type request struct {
	path, bearer string
	body         []byte
}

// collector is one that takes what is sent, or answers with a status while that is not 0.
func collector(t *testing.T) (address *url.URL, requests chan request, status *atomic.Int32) {
	requests, status = make(chan request, 100), new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := int(status.Load()); code != 0 {
			w.WriteHeader(code)
			return
		}
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("a request is not compressed: %v", err)
			return
		}
		content, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		requests <- request{r.URL.Path, r.Header.Get("Authorization"), content}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address, requests, status
}

func newPusher(t *testing.T, address *url.URL, from Source, log io.Writer) *Pusher {
	p, err := New(t.Context(), address, from, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// named are the attributes of a resource.
func named(r *resourcepb.Resource) map[string]string {
	all := map[string]string{}
	for _, each := range r.Attributes {
		all[each.Key] = each.Value.GetStringValue()
	}
	return all
}

func TestACollectorGetsMetrics(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20sesame")
	address, requests, _ := collector(t)
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pinion_hosts", Help: "Hosts."}, []string{"state"})
	gauge.WithLabelValues("up").Set(3)
	registry.MustRegister(gauge)
	p := newPusher(t, address, Source{PoolID: "pool", HostID: "id", HostName: "gpu-1", Version: "1.2.3"}, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { p.Loop(ctx, registry) })
	got := <-requests
	cancel()
	loop.Wait()
	if got.path != "/v1/metrics" || got.bearer != "Bearer sesame" {
		t.Errorf("%s with %q", got.path, got.bearer)
	}
	var message metricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(got.body, &message); err != nil {
		t.Fatal(err)
	}
	of := message.ResourceMetrics[0]
	if host := named(of.Resource); host["service.name"] != "pinion" || host["service.instance.id"] != "id" || host["pinion.pool.id"] != "pool" || host["host.name"] != "gpu-1" || host["service.version"] != "1.2.3" {
		t.Errorf("of %v", host)
	}
	metric := of.ScopeMetrics[0].Metrics[0]
	point := metric.GetGauge().GetDataPoints()[0]
	if metric.Name != "pinion_hosts" || point.GetAsDouble() != 3 || point.Attributes[0].Key != "state" || point.Attributes[0].Value.GetStringValue() != "up" {
		t.Errorf("%v", metric)
	}
}

// Only a leader has metrics of the pool: the others send nothing, and say nothing of that.
func TestNothingIsPushedWhereThereIsNothing(t *testing.T) {
	address, requests, _ := collector(t)
	p := newPusher(t, address, Source{PoolID: "pool"}, io.Discard)
	err := p.push(t.Context(), prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(prometheus.NewRegistry())))
	if err != nil || len(requests) > 0 {
		t.Errorf("%d requests, %v", len(requests), err)
	}
}

func TestACollectorGetsTraces(t *testing.T) {
	address, requests, status := collector(t)
	p := newPusher(t, address, Source{PoolID: "pool"}, io.Discard)
	begin := time.Unix(1_700_000_000, 5)
	task := &spec.Task{ID: "t", Cluster: "lab", Definition: "web:3", HostID: "h", CreatedAt: begin, StopCode: spec.StopFailedToStart, StoppedReason: "no such image\xc3", // cut in the middle of a character

		Times: spec.TaskTimes{PullStarted: begin.Add(time.Second), Stopped: begin.Add(2 * time.Second)}}
	spans := tracer.StartSpans(task, begin)
	if err := p.Export(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	got := <-requests
	var message collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(got.body, &message); err != nil || got.path != "/v1/traces" {
		t.Fatal(got.path, err)
	}
	of := message.ResourceSpans[0]
	sent := of.ScopeSpans[0].Spans
	root, child := sent[0], sent[1]
	if len(sent) != len(spans) || len(root.ParentSpanId) != 0 || !bytes.Equal(child.ParentSpanId, root.SpanId) || !bytes.Equal(child.TraceId, root.TraceId) || len(root.TraceId) != 16 || len(root.SpanId) != 8 {
		t.Errorf("%v", sent)
	}
	if root.StartTimeUnixNano != 1_700_000_000_000_000_005 || root.EndTimeUnixNano-root.StartTimeUnixNano != 2e9 || root.Status.GetMessage() != "no such image�" || child.Status != nil {
		t.Errorf("%v", root)
	}
	if name := named(&resourcepb.Resource{Attributes: root.Attributes}); name["aws.ecs.task.id"] != "t" || name["aws.ecs.task.family"] != "web" || name["pinion.cluster"] != "lab" {
		t.Errorf("%v", name)
	}

	status.Store(http.StatusForbidden) // which trying again does not mend
	if err := p.Export(t.Context(), spans); err == nil {
		t.Error("what the collector has refused counts as sent")
	}
}
