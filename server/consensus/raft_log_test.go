package consensus

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Raft says almost three times a second that a server does not answer, until it is removed.
func TestWhatRaftRepeatsOfAServerIsSaidOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	sink := &slogSink{log: slog.New(slog.NewTextHandler(&log, nil)), said: map[string]time.Time{}, now: func() time.Time { return now }}
	for range 120 {
		sink.Accept("", hclog.Error, "failed to heartbeat to", "peer", "10.0.0.2:7400", "error", "refused")
		sink.Accept("", hclog.Error, "failed to heartbeat to", "peer", "10.0.0.3:7400", "error", "refused")
		sink.Accept("", hclog.Warn, "failed to contact quorum of nodes, stepping down")
		now = now.Add(time.Second)
	}
	for text, want := range map[string]int{"10.0.0.2": 2, "10.0.0.3": 2, "quorum": 120} {
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("%s: %d lines in two minutes, want %d", text, got, want)
		}
	}
}
