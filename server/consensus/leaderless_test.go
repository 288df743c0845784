package consensus

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pinion/server/rpc"
)

func TestAServerSaysThatItHasNoLeaderAndForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			address atomic.Value
			lines   bytes.Buffer
		)
		address.Store("host-1:7400")
		leader := rpc.NewLeaderTracker(func() (string, bool) { return address.Load().(string), false })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go logLeaderless(ctx, leader, slog.New(slog.NewTextHandler(&lines, nil)))
		said := func(passed time.Duration, leads string) string {
			lines.Reset()
			address.Store(leads)
			leader.Refresh()
			time.Sleep(passed)
			synctest.Wait()
			return lines.String()
		}
		if got := said(time.Hour, "host-1:7400"); got != "" {
			t.Errorf("with a leader: %q", got)
		}
		if got := said(leaderlessAfter-time.Millisecond, ""); got != "" {
			t.Errorf("during an election: %q", got)
		}
		if got := said(0, "host-2:7400"); got != "" {
			t.Errorf("after an election: %q", got)
		}
		if got := said(leaderlessAfter+2*leaderlessInterval, ""); strings.Count(got, "level=WARN") != 3 || !strings.Contains(got, "1m5s") {
			t.Errorf("without a leader: %q", got)
		}
		if got := said(0, "host-3:7400"); !strings.Contains(got, "2m5s") {
			t.Errorf("with a leader again: %q", got)
		}
	})
}
