package logforward

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pinion/raftfsm/logdriver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbers checks that the lines 0 to n-1 have come, each at least once.
func numbers(t *testing.T, lines []string, n int) {
	t.Helper()
	missing := []int{}
	for i := range n {
		found := false
		for _, line := range lines {
			found = found || strings.HasSuffix(line, fmt.Sprintf(" line %d", i))
		}
		if !found {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d lines are missing: %v", len(missing), n, missing[:min(5, len(missing))])
	}
}

// All lines come, also those at the end of a container, and then nothing of it is left to do.
func TestALogIsSentToItsEnd(t *testing.T) {
	to := listen(t, "tcp", "127.0.0.1:0", true)
	w := newLog(t)
	f := w.forward(logdriver.Syslog, map[string]string{"syslog-address": "tcp://" + to.address()}, "tcp://"+to.address())
	w.add(300, "line ")
	eventually(t, "the first lines", func() bool { return len(to.lines()) == 300 })
	w.rotate()
	w.add(100, "line ")
	f.markEnded(of.Task)
	w.add(5, "line ")
	w.end()
	eventually(t, "the end", func() bool { return !w.noted() })
	if got := to.lines(); len(got) != 405 {
		t.Errorf("%d lines, some of them twice", len(got))
	}
	numbers(t, to.lines(), 405)
	if said := w.said(); said != "" {
		t.Errorf("it says %q", said)
	}
}

// A destination that goes away and comes back misses no line, not even those that were on the way: what is not acknowledged is sent again.
func TestADestinationThatWasAwayMissesNothing(t *testing.T) {
	to := listen(t, "tcp", "127.0.0.1:0", true)
	at := to.address()
	w := newLog(t)
	w.forward(logdriver.Syslog, map[string]string{"syslog-address": "tcp://" + at}, "tcp://"+at)
	w.add(50, "line ")
	eventually(t, "the first lines", func() bool { return len(to.lines()) == 50 })
	to.close()
	w.add(50, "line ")
	eventually(t, "the failure", func() bool { return strings.Contains(w.said(), "cannot be sent") })
	again := listen(t, "tcp", at, true)
	w.add(50, "line ")
	eventually(t, "the rest", func() bool { return strings.HasSuffix(strings.Join(again.lines(), "\n"), " line 149") })
	numbers(t, append(to.lines(), again.lines()...), 150)
	eventually(t, "that it is over", func() bool { return strings.Contains(w.said(), "sent again") })
}

// Sent lines are not sent again by the next run of the agent, and unsent ones are: also of a container that has ended meanwhile.
func TestARestartGoesOnWhereTheLogWasSentTo(t *testing.T) {
	to := listen(t, "tcp", "127.0.0.1:0", true)
	allowed := "tcp://" + to.address()
	w := newLog(t)
	f := w.forward(logdriver.Syslog, map[string]string{"syslog-address": allowed}, allowed)
	w.add(100, "line ")
	eventually(t, "the first lines", func() bool { return len(to.lines()) == 100 && w.sent() })
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	w.add(100, "line ")
	w.end()
	w.forwarders(allowed)
	eventually(t, "the end", func() bool { return !w.noted() })
	if got := to.lines(); len(got) != 200 {
		t.Errorf("%d lines of 200", len(got))
	}
	numbers(t, to.lines(), 200)
}

// A destination that accepts and reads nothing holds up neither the container nor the disk, and what it never gets is counted and said, to it too.
func TestADestinationThatStallsCostsLinesThatAreCounted(t *testing.T) {
	to := listen(t, "tcp", "127.0.0.1:0", false)
	at := to.address()
	w := newLog(t)
	w.forward(logdriver.Syslog, map[string]string{"syslog-address": "tcp://" + at}, "tcp://"+at)
	for range 40 { // far more than the buffers of a connection, in files of which two are kept
		w.add(100, strings.Repeat("x", 10_000)+" line ")
		w.rotate()
	}
	eventually(t, "the stall", func() bool { return strings.Contains(w.said(), errStalled.Error()) })
	to.close()
	again := listen(t, "tcp", at, true)
	w.add(1, " line ")
	eventually(t, "the last line", func() bool {
		return strings.HasSuffix(strings.Join(again.lines(), "\n"), fmt.Sprintf(" line %d", w.lines-1))
	})
	if !strings.Contains(strings.Join(again.lines(), "\n"), "bytes of the log of this container were dropped here") {
		t.Error("the destination is not told what it missed")
	}
	eventually(t, "the count", func() bool { return strings.Contains(w.said(), "were removed before they could be sent") })
}
