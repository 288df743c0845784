package many

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// How long each proof is. A fault is cheap to repeat by hand:
//
//	go test -v -timeout 0 -run TestFaults/kills ./packaging/e2e/many -kills 50
var (
	kills          = flag.Int("kills", 2, "how often the leader is killed under load")
	clients        = flag.Int("clients", 20, "how many clients run tasks while it is")
	pace           = flag.Duration("pace", 100*time.Millisecond, "mean time between two tasks of all those clients together")
	repeats        = flag.Int("rounds", 1, "how often every host is killed, and every kind of cut is made")
	away           = flag.Duration("away", 5*time.Second, "how long there are no servers")
	hangs          = flag.Int("hangs", 1, "how often the leader's disk hangs")
	fills          = flag.Int("fills", 1, "how often disks fill up, first one, then two at a time")
	flickers       = flag.Int("flickers", 1, "how often the store of a follower fails again and again")
	enforceTargets = flag.Bool("targets", false, "fail when a metric misses its target; the machine must have nothing else to do then")
)

// metric is one line of the table that a run ends with.
type metric struct {
	name    string
	value   string
	target  string // empty: no promise was made
	missed  bool
	samples int
}

var (
	metricsMu sync.Mutex // pools are tested beside each other
	metrics   []metric
)

func recordMetric(f metric) {
	metricsMu.Lock()
	defer metricsMu.Unlock()
	metrics = append(metrics, f)
}

// recordTimes writes down the median and the 99th percentile of what was measured, and the longest. A target of 0 is none.
func recordTimes(t *testing.T, what string, times []time.Duration, p50, p99 time.Duration) {
	t.Helper()
	if len(times) == 0 {
		t.Errorf("%s was never measured", what)
		return
	}
	slices.Sort(times)
	for _, part := range []struct {
		name   string
		value  time.Duration
		target time.Duration
	}{{"p50", percentile(times, 50), p50}, {"p99", percentile(times, 99), p99}, {"longest", times[len(times)-1], 0}} {
		f := metric{name: what + ", " + part.name, value: part.value.Round(time.Millisecond).String(), samples: len(times)}
		if part.target > 0 {
			f.target, f.missed = part.target.String(), part.value > part.target
		}
		recordMetric(f)
		if f.missed && *enforceTargets {
			t.Errorf("%s: %s, target %s", f.name, f.value, f.target)
		}
	}
}

// percentile is the smallest of the sorted times that p of 100 do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}

// recordCount writes down how much was done without a fault.
func recordCount(what string, n int) { recordMetric(metric{name: what, value: fmt.Sprint(n)}) }

func printMetrics() {
	if len(metrics) == 0 {
		return
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "METRIC\tVALUE\tTARGET\tSAMPLES\t")
	for _, f := range metrics {
		of, missed := "", ""
		if f.samples > 0 {
			of = fmt.Sprint(f.samples)
		}
		if f.missed {
			missed = "MISSED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.name, f.value, f.target, of, missed)
	}
	table.Flush()
}

func TestPercentilesAreOfTheSortedTimes(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(i+1))
	}
	for p, want := range map[int]time.Duration{50: 100, 99: 198, 100: 200} {
		if got := percentile(times, p); got != want {
			t.Errorf("p%d of 1 to 200 is %d, want %d", p, got, want)
		}
	}
	if got := percentile(times[:1], 50); got != 1 {
		t.Errorf("p50 of one is %d", got)
	}
}
