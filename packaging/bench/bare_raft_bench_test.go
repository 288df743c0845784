package main

import (
	"testing"

	"github.com/hashicorp/raft"
)

// BenchmarkBareRaft is the reference of what is recorded: how many entries, and how many KiB of which 64 share an entry, three
// servers of Raft and nothing else record in a second.
func BenchmarkBareRaft(b *testing.B) {
	const entries, shared = 20_000, 64
	bare, err := startBareRaft()
	must(b, err)
	defer func() { must(b, bare.close()) }()
	record := func(b *testing.B, count, size int) {
		for b.Loop() {
			futures := make([]raft.ApplyFuture, count)
			for n := range futures {
				futures[n] = bare.leader.Apply(make([]byte, size), waitTimeout)
			}
			for _, f := range futures {
				must(b, f.Error())
			}
		}
	}
	b.Run("1 KiB", func(b *testing.B) {
		record(b, entries, entryBytes)
		b.ReportMetric(float64(entries*b.N)/b.Elapsed().Seconds(), "entries/s")
	})
	b.Run("64 KiB", func(b *testing.B) {
		record(b, entries/shared, shared*entryBytes)
		b.ReportMetric(float64(entries*b.N)/b.Elapsed().Seconds(), "KiB/s")
	})
}
