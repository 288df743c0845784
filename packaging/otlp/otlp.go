// Package otlp pushes metrics, and traces of tasks, to a collector by the OpenTelemetry Protocol (https://opentelemetry.io/docs/specs/otlp/) over HTTP.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"pinion/packaging/tick"
	"pinion/server/tracer"
)

const (
	// interval is the time between two pushes of metrics: as often as Prometheus is usually told to scrape.
	interval = 15 * time.Second
	// timeout bounds one request to the collector, patience one push with its repetitions. Metrics have to be through before the next are due.
	timeout, patience = 5 * time.Second, 12 * time.Second
	firstPause        = time.Second
)

// Pusher pushes to one collector. It is not safe for concurrent use, but Metrics beside Export is.
type Pusher struct {
	metrics  *otlpmetrichttp.Exporter
	traces   otlptrace.Client
	resource *resource.Resource
	log      *slog.Logger
}

// Source describes the sender of metrics and traces: a host, or the pool.
type Source struct {
	PoolID   string
	HostID   string // empty: it is the pool, whatever host leads it
	HostName string
	Version  string // of pinion
}

func (s Source) resource() *resource.Resource {
	of := []attribute.KeyValue{
		attribute.String("service.name", "pinion"), attribute.String("service.version", s.Version), attribute.String("service.instance.id", cmp.Or(s.HostID, s.PoolID)),
		attribute.String("pinion.pool.id", s.PoolID),
	}
	if s.HostID != "" {
		of = append(of, attribute.String("host.id", s.HostID), attribute.String("host.name", s.HostName))
	}
	return resource.NewSchemaless(of...)
}

// New makes a pusher. The exporters also read what OpenTelemetry's environment variables say: OTEL_EXPORTER_OTLP_HEADERS has the token of a collector,
// OTEL_EXPORTER_OTLP_CERTIFICATE the file with its CA. Nothing is sent yet.
func New(ctx context.Context, endpoint *url.URL, from Source, log *slog.Logger) (*Pusher, error) {
	metrics, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(endpoint.JoinPath("v1/metrics").String()), otlpmetrichttp.WithTimeout(timeout),
		otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: true, InitialInterval: firstPause, MaxInterval: timeout, MaxElapsedTime: patience}))
	if err != nil {
		return nil, err
	}
	traces := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(endpoint.JoinPath("v1/traces").String()), otlptracehttp.WithTimeout(timeout),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: firstPause, MaxInterval: timeout, MaxElapsedTime: patience}))
	return &Pusher{metrics: metrics, traces: traces, resource: from.resource(), log: log}, traces.Start(ctx)
}

// Close ends the connections to the collector.
func (p *Pusher) Close(ctx context.Context) error {
	return errors.Join(p.metrics.Shutdown(ctx), p.traces.Stop(ctx))
}

// Loop pushes what is gathered until ctx ends. What the collector does not take in time is dropped: the next metrics stand for it.
func (p *Pusher) Loop(ctx context.Context, from prometheus.Gatherer) {
	producer := prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		if err != nil {
			p.log.Warn("some metrics cannot be gathered", "error", err) // they are missing, as in a scrape: the others count the more
		}
		return families, nil
	})))
	ticks := tick.New(interval)
	defer ticks.Stop()
	failing := false
	for {
		err := p.push(ctx, producer)
		if err != nil && !failing && ctx.Err() == nil {
			p.log.Warn("metrics are not pushed: the collector does not take them", "error", err)
		} else if err == nil && failing {
			p.log.Info("the collector takes metrics again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (p *Pusher) push(ctx context.Context, producer metric.Producer) error {
	scopes, err := producer.Produce(ctx)
	if !slices.ContainsFunc(scopes, func(s metricdata.ScopeMetrics) bool { return len(s.Metrics) > 0 }) {
		return err
	}
	return errors.Join(p.metrics.Export(ctx, &metricdata.ResourceMetrics{Resource: p.resource, ScopeMetrics: scopes}), err)
}

// Export sends the spans of tasks; see tracer.Tracer.
func (p *Pusher) Export(ctx context.Context, spans []tracer.Span) error {
	return p.traces.UploadTraces(ctx, []*tracepb.ResourceSpans{resourceSpans(p.resource, spans)})
}
