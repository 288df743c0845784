package tasklog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/api/client"
)

// drawLog is what the containers of a task write, in the order of writing. A line is stamped some time before it is written.
func drawLog(t *rapid.T) (lines []client.LogLine) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := map[string]time.Time{}
	for i := range rapid.IntRange(0, 40).Draw(t, "lines") {
		now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, time.Millisecond, time.Second, time.Minute}).Draw(t, "later by"))
		container := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "container")
		at := now.Add(-rapid.SampledFrom([]time.Duration{0, 0, 1, time.Millisecond, time.Second}).Draw(t, "stamped before"))
		if at.Before(last[container]) {
			at = last[container]
		}
		last[container] = at
		lines = append(lines, client.LogLine{Time: at, Container: container, Text: fmt.Sprint(i)})
	}
	return lines
}

// However often the stream breaks off, each line comes once, and those of a container in order.
func TestAnInterruptedLogIsResumedWithoutAGapOrARepeatedLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawLog(t)
		c := cursor{containers: map[string]*containerPosition{}, slack: resumeSlack}
		got, written := map[string][]client.LogLine{}, 0
		for done := false; !done; {
			since := c.resume(client.LogQuery{}).Since
			written = rapid.IntRange(written, len(lines)).Draw(t, "written when it begins")
			stream := slices.SortedStableFunc(slices.Values(lines[:written]), func(a, b client.LogLine) int { return a.Time.Compare(b.Time) })
			stream = slices.DeleteFunc(append(stream, lines[written:]...), func(l client.LogLine) bool { return l.Time.Before(since) })
			taken := rapid.IntRange(0, len(stream)).Draw(t, "lines until it breaks off")
			done = taken == len(stream)
			for _, l := range stream[:taken] {
				written = max(written, slices.Index(lines, l)+1)
				if c.advance(l) {
					got[l.Container] = append(got[l.Container], l)
				}
			}
		}
		for _, container := range []string{"a", "b", "c"} {
			want := slices.DeleteFunc(slices.Clone(lines), func(l client.LogLine) bool { return l.Container != container })
			if !slices.Equal(got[container], want) {
				t.Fatalf("%s: got %v\nwant %v", container, got[container], want)
			}
		}
	})
}
