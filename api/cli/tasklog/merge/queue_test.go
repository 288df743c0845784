package merge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/api/client"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// drawLogs are what tasks have written, each in the order of time.
func drawLogs(t *rapid.T) (logs [][]client.LogLine) {
	for task := range rapid.IntRange(1, 5).Draw(t, "tasks") {
		var lines []client.LogLine
		at := noon
		for i := range rapid.IntRange(0, 12).Draw(t, "lines") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, time.Millisecond, time.Second}).Draw(t, "later by"))
			lines = append(lines, client.LogLine{Time: at, Text: fmt.Sprint(task, ".", i)})
		}
		logs = append(logs, lines)
	}
	return logs
}

// However the logs of tasks arrive, what is there comes in the order of time, each line once; of lines of one time those of the task that was
// added first.
func TestLogsAreMergedInTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t)
		all := newQueues(time.Now)
		var want, got []client.LogLine
		var open []*queue
		left := slices.Clone(logs)
		for i, lines := range logs {
			open = append(open, all.add(Source{Label: fmt.Sprint(i)}))
			want = append(want, lines...)
		}
		slices.SortStableFunc(want, func(a, b client.LogLine) int { return a.Time.Compare(b.Time) })
		all.close()
		for found := wait; found != over; {
			i := rapid.IntRange(0, len(open)-1).Draw(t, "task")
			for range rapid.IntRange(0, 4).Draw(t, "lines that arrive") {
				if len(left[i]) > 0 {
					all.push(open[i], left[i][0])
					left[i] = left[i][1:]
				}
			}
			if len(left[i]) == 0 {
				all.set(open[i], ended)
			}
			var line client.LogLine
			for _, line, found, _ = all.take(false); found == taken; _, line, found, _ = all.take(false) {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}

// Lines of tasks that are followed wait for those of others that may be on their way, and not longer.
func TestAFollowedLineWaitsForOthers(t *testing.T) {
	now := noon
	all := newQueues(func() time.Time { return now })
	a, b := all.add(Source{Label: "a"}), all.add(Source{Label: "b"})
	all.set(a, followed)
	all.push(a, client.LogLine{Time: noon.Add(time.Second), Text: "a"})
	if _, _, found, pause := all.take(false); found != wait || pause != 0 {
		t.Errorf("b is still read: %v, %v", found, pause)
	}
	all.set(b, followed)
	if _, _, found, pause := all.take(false); found != wait || pause != window {
		t.Errorf("a line of b may be on its way: %v, %v", found, pause)
	}
	all.push(b, client.LogLine{Time: noon, Text: "b"})
	if q, _, found, _ := all.take(false); found != taken || q != b {
		t.Errorf("b is older: %v", found)
	}
	now = now.Add(window)
	if q, _, found, _ := all.take(false); found != taken || q != a {
		t.Errorf("a has waited: %v", found)
	}
	all.pass(b) // it is followed: nothing changes
	all.set(a, reading)
	all.push(b, client.LogLine{Time: noon, Text: "b"})
	if _, _, found, _ := all.take(false); found != wait {
		t.Errorf("a is read again: %v", found)
	}
	all.pass(a)
	if q, _, found, _ := all.take(false); found != taken || q != b {
		t.Errorf("the host of a does not answer: %v", found)
	}
}

func TestAQueueIsBounded(t *testing.T) {
	all := newQueues(time.Now)
	q := all.add(Source{})
	n := 1
	for all.push(q, client.LogLine{Text: "x"}) {
		n++
	}
	if n != bufferLines || all.hasRoom(q) {
		t.Errorf("it took %d lines", n)
	}
	big := all.add(Source{})
	if all.push(big, client.LogLine{Text: string(make([]byte, bufferBytes))}) {
		t.Error("it takes more than its bytes")
	}
}
