package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"pinion/packaging/testbed"
)

// starvedDisk is the size of the disk of each server of a starved pool, in bytes.
const starvedDisk = 2 << 30

// BenchmarkStarvedRunTask fills a pool as BenchmarkRunTask does, while the disks of its servers hang for 300 ms at random and four busy
// loops share the CPUs. The three servers live in this process and always reach each other, so the first one leads to the end.
func BenchmarkStarvedRunTask(b *testing.B) {
	for b.Loop() {
		var terms termCounter
		c := newInprocClusterWith(b, offeredHosts / *scale, inprocOptions{disk: starvedDisk, log: slog.New(&terms)})
		c.inBackground(func(ctx context.Context) {
			if err := testbed.Stress(ctx, c.disks); err != nil {
				b.Error(err)
			}
		})
		begun := terms.begun.Load()
		c.fillHosts(false)
		b.ReportMetric(float64(terms.begun.Load()-begun), "leader-changes")
	}
	b.ReportMetric(0, "ns/op")
}

// termCounter is a log handler that keeps nothing but how many leader terms servers have begun.
type termCounter struct{ begun atomic.Int64 }

func (c *termCounter) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (c *termCounter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "this server leads the pool" {
		c.begun.Add(1)
	}
	return nil
}

func (c *termCounter) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *termCounter) WithGroup(string) slog.Handler      { return c }
