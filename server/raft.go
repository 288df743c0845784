package server

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	keepSnapshots = 2
	// A snapshot every so many entries, and so many entries kept behind it for a follower that lags. Entries are small
	// and carry many changes each; both together keep the log within the space set aside for it.
	snapshotAfter = 4096
	keepEntries   = 2048
	// entriesAtOnce is how many entries share one write to the disk at most.
	entriesAtOnce = 512
)

// raftConfig keeps Raft's own timeouts (an election after one to two seconds without a leader): they are right between
// hosts, and a server alone does not wait for them (see settle).
func (s *Server) raftConfig(logger hclog.Logger) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(s.cfg.HostID)
	conf.MaxAppendEntries = entriesAtOnce
	conf.SnapshotThreshold = snapshotAfter
	conf.TrailingLogs = keepEntries
	conf.ShutdownOnRemove = false
	conf.NotifyCh = s.leads
	conf.Logger = logger
	conf.NoLegacyTelemetry = true
	return conf
}

// NewTransport makes what Config.Transport takes of a stream layer such as TLS. Requests to a server are never pipelined:
// a follower whose store fails for a moment in the middle of a pipeline can stay behind for good.
func NewTransport(stream raft.StreamLayer, log *slog.Logger) raft.Transport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:                  stream,
		MaxPool:                 3,
		MaxRPCsInFlight:         1,
		Timeout:                 10 * time.Second,
		Logger:                  raftLogger(log),
		MsgpackUseNewTimeFormat: true,
	})
}

// raftLogger passes what Raft says on to our log: its everyday talk as debug, its warnings and errors as such.
func raftLogger(log *slog.Logger) hclog.Logger {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Info})
	logger.RegisterSink(sink{log})
	return logger
}

type sink struct{ log *slog.Logger }

// Accept is called by hclog for each line.
func (s sink) Accept(_ string, level hclog.Level, message string, args ...any) {
	to := slog.LevelDebug
	switch {
	case level >= hclog.Error:
		to = slog.LevelError
	case level == hclog.Warn:
		to = slog.LevelWarn
	}
	s.log.Log(context.Background(), to, "raft: "+message, args...)
}
