package containerd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Pinion that was killed during a start leaves containerd at work on it, which shows nothing of it to the next Pinion but does not let
// it start the same container. That one waits until containerd has taken the start back.
func TestAStartWaitsUntilAnEarlierOneIsTakenBack(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.task(sh("exit 0"))
	state := "state"
	if h.daemon != nil {
		state = "containerd/state"
	}
	bundle := filepath.Join(h.dir, state, "io.containerd.runtime.v2.task/pinion", c.ID)
	must(t, os.MkdirAll(bundle, 0o700))
	started := make(chan error, 1)
	go func() { started <- h.runtime.Start(h.ctx(), c) }()
	for tick := time.NewTicker(10 * time.Millisecond); !strings.Contains(h.log.String(), "an earlier start"); {
		select {
		case err := <-started:
			t.Fatalf("the start did not wait: %v", err)
		case <-tick.C:
		}
	}
	must(t, os.Remove(bundle))
	must(t, <-started)
	if exit := h.wait(c); exit.Code != 0 {
		t.Errorf("exit code %d", exit.Code)
	}
}
