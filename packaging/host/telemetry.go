package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api/metrics"
	"pinion/packaging/otlp"
	"pinion/server/tracer"
)

// telemetryGrace bounds what may still be sent when the host ends.
const telemetryGrace = 2 * time.Second

// pushTelemetry pushes the metrics of this host to its collector until ctx ends, and, while the host leads, those of the pool and the traces of tasks.
func pushTelemetry(ctx context.Context, h *host, registry *metrics.Registry) error {
	collector := h.config.Telemetry.Collector
	if collector == nil {
		return nil
	}
	if h.member.PoolID() == "" {
		select {
		case <-h.agent.Joined():
		case <-ctx.Done():
			return nil
		}
	}
	self := otlp.Source{PoolID: h.member.PoolID(), HostID: h.dir.HostID, HostName: nameOf(h.config), Version: h.Version}
	own, err := otlp.New(ctx, collector, self, h.log)
	if err != nil {
		return fmt.Errorf("the collector %s: %w", collector, err)
	}
	pool, err := otlp.New(ctx, collector, otlp.Source{PoolID: self.PoolID, Version: h.Version}, h.log)
	if err != nil {
		return fmt.Errorf("the collector %s: %w", collector, err)
	}
	var loops errgroup.Group
	loops.Go(func() error {
		own.Loop(ctx, registry.Gatherer(func() string { return h.agent.host.Cluster }))
		return nil
	})
	loops.Go(func() error { pool.Loop(ctx, registry.Pool); return nil })
	traces := tracer.Tracer{State: h.member.LeaderState, Export: pool.Export, Now: time.Now, Log: h.log}
	loops.Go(func() error { traces.Loop(ctx); return nil })
	_ = loops.Wait() // none fails
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryGrace)
	defer cancel()
	if err := errors.Join(own.Close(ctx), pool.Close(ctx)); err != nil {
		h.log.Debug("closing the connections to the collector", "error", err)
	}
	return nil
}
