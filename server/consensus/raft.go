package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	retainSnapshots = 2
	// A snapshot every so many entries, and so many entries kept behind it for a follower that lags. Entries are mostly small
	// and carry many changes each; both together keep the log within the space set aside for it. See logBound for large ones.
	snapshotThreshold = 4096
	trailingLogs      = 2048
	// maxAppendEntries is how many entries share one write to the disk at most.
	maxAppendEntries = 512
	// cachedEntries are the newest of the log that are kept in memory: what is sent to a follower, or applied by one, was written a moment ago.
	cachedEntries = 32
)

// A follower calls an election after one to two silences without a word of the leader, which speaks every tenth of one;
// a leader that does not reach a majority within the lease steps down. Hosts of one pool are near each other; a server
// alone does not wait for any of this. The lease may not be longer than the silence, and is no shorter: on a machine that
// has too little of its CPUs an answer is late by 450 ms, and nobody else would lead any sooner.
const (
	electionTimeout = 600 * time.Millisecond
	leaderLease     = electionTimeout
)

// rpcTimeout bounds one request between servers. A link that drops packets delays its follower by this time, so it is short;
// it is just below the store's own watchdog, so that a slow disk at the other end has time to answer.
const rpcTimeout = 4 * time.Second

// NewTransport makes a Config.Transport from a stream layer such as TLS. Requests to a server are never pipelined, because a
// follower whose store fails briefly in the middle of a pipeline can lag for ever.
func NewTransport(stream raft.StreamLayer, log *slog.Logger) *raft.NetworkTransport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream:                  stream,
		MaxPool:                 3,
		MaxRPCsInFlight:         1,
		Timeout:                 rpcTimeout,
		Logger:                  Logger(log),
		MsgpackUseNewTimeFormat: true,
	})
}

// Logger forwards Raft's log lines to our log: informational ones as debug, warnings and errors unchanged.
func Logger(log *slog.Logger) hclog.Logger {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Info})
	logger.RegisterSink(&slogSink{log: log, said: map[string]time.Time{}, now: time.Now})
	return logger
}

// slogSink passes lines on. What Raft repeats of another server while that is away is a warning or an error once a minute, and debug between.
type slogSink struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	said map[string]time.Time // when a line about another server was passed on last, at most maxSaid of them
}

const (
	repeatAfter = time.Minute
	maxSaid     = 100
)

// isRepeated reports whether a line about another server was passed on within the last minute.
func (s *slogSink) isRepeated(message string, args []any) bool {
	about := ""
	for i := 0; i+1 < len(args); i += 2 {
		if name, _ := args[i].(string); slices.Contains([]string{"peer", "server-id", "target"}, name) {
			about = fmt.Sprint(message, args[i+1])
		}
	}
	if about == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.said[about]
	if known && s.now().Sub(last) < repeatAfter {
		return true
	}
	if len(s.said) >= maxSaid {
		clear(s.said)
	}
	s.said[about] = s.now()
	return false
}

// Accept is called by hclog for each line.
func (s *slogSink) Accept(_ string, level hclog.Level, message string, args ...any) {
	to := slog.LevelDebug
	switch {
	case isConnClosed(message, args):
	case level >= hclog.Warn && s.isRepeated(message, args):
	case level >= hclog.Error:
		to = slog.LevelError
	case level == hclog.Warn:
		to = slog.LevelWarn
	}
	s.log.Log(context.Background(), to, "raft: "+message, args...)
}

// isConnClosed reports whether a log line only says that a connection from another server has ended. Raft logs an error for it
// when the connection ends in the middle of a request, as when that server's process ends.
func isConnClosed(message string, args []any) bool {
	if message != "failed to decode incoming command" && message != "failed to flush response" {
		return false
	}
	return slices.ContainsFunc(args, func(arg any) bool {
		err, _ := arg.(error)
		return slices.ContainsFunc([]error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
			raft.ErrTransportShutdown}, func(over error) bool { return errors.Is(err, over) })
	})
}
