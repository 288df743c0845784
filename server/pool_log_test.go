package server

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
)

// testLog says everything when PINION_TEST_LOG is set. Without it, the newest lines are printed when the test has failed.
func testLog(t *testing.T, name string) *slog.Logger {
	var to io.Writer = os.Stderr
	if os.Getenv("PINION_TEST_LOG") == "" {
		newest := &newestLines{}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the newest lines of %s:\n%s", name, newest)
			}
		})
		to = newest
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug})).With("on", name)
}

// newestLines are at most 300 lines of a log.
type newestLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *newestLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	l.lines = l.lines[max(0, len(l.lines)-300):]
	return len(line), nil
}

func (l *newestLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
