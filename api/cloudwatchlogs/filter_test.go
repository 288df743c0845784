package cloudwatchlogs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/api/auth"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// filter is FilterLogEvents of the group, page by page, with further members in pairs.
func (w *fixture) filter(t testing.TB, members ...any) (all []filteredEvent) {
	t.Helper()
	input := in{"logGroupName": "g", "interleaved": true}
	for i := 0; i < len(members); i += 2 {
		input[members[i].(string)] = members[i+1]
	}
	for {
		page := w.call(t, "FilterLogEvents", input)
		all = append(all, page.Events...)
		if page.NextToken == "" {
			return all
		}
		input["nextToken"] = page.NextToken
	}
}

func messages(events []filteredEvent) (all []string) {
	for _, e := range events {
		all = append(all, e.Message)
	}
	return all
}

func TestStreamsOfSeveralHostsAreMergedByTime(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.run(t, "f", "one", "host-1", at(1, "a"), at(3, "c"), at(5, "e"))
	w.run(t, "f", "two", "host-2", at(2, "b"), at(4, "d"), at(5, "f"))
	events := w.filter(t, "limit", 1)
	same(t, "events", messages(events), []string{"a", "b", "c", "d", "e", "f"})
	if e := events[1]; e.LogStreamName != "p/c/two" || e.Timestamp != epoch.UnixMilli()+2 || e.IngestionTime != e.Timestamp || len(e.EventID) != 56 {
		t.Errorf("%+v", e)
	}
	same(t, "one stream", messages(w.filter(t, "logStreamNames", []string{"p/c/two"})), []string{"b", "d", "f"})
	same(t, "a prefix", messages(w.filter(t, "logStreamNamePrefix", "p/c/o")), []string{"a", "c", "e"})
	ms := epoch.UnixMilli()
	same(t, "a span with its end", messages(w.filter(t, "startTime", ms+2, "endTime", ms+4)), []string{"b", "c", "d"})
}

// `aws logs tail --follow` asks again from the newest time stamp on and knows what it has by the ids.
func TestALineHasTheSameIDWheneverItIsRead(t *testing.T) {
	w := oneStream(t, numbered(10, 5)...)
	ids := map[string]string{}
	for _, e := range w.filter(t) {
		ids[e.Message] = e.EventID
	}
	w.logs["one/c"] = append(w.logs["one/c"], at(1, "new"))
	for _, e := range w.filter(t, "startTime", epoch.UnixMilli()+1, "limit", 2) {
		if known := ids[e.Message]; known != e.EventID && e.Message != "new" {
			t.Errorf("%s was %s, is %s", e.Message, known, e.EventID)
		}
		ids[e.Message] = e.EventID
	}
	unique := map[string]bool{}
	for _, id := range ids {
		unique[id] = true
	}
	if len(unique) != 11 {
		t.Errorf("%d ids for 11 lines", len(unique))
	}
}

// Whatever the streams, the stamps and the pages: each line that matches comes once, in the order of time.
func TestPagesOfAGroupAreWhole(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	ids := []string{"a", "b", "c", "d"}
	for i, id := range ids {
		w.run(t, "f", id, fmt.Sprint("host-", i%2))
	}
	rapid.Check(t, func(r *rapid.T) {
		var want []string
		for _, id := range ids {
			lines := numbered(rapid.IntRange(0, 30).Draw(r, "lines of "+id), rapid.IntRange(1, 9).Draw(r, "together in "+id))
			for i := range lines {
				lines[i].Text += " of " + id
				if strings.Contains(lines[i].Text, "2") {
					want = append(want, lines[i].Text)
				}
			}
			w.logs[id+"/c"] = lines
		}
		events := w.filter(t, "limit", rapid.IntRange(1, 40).Draw(r, "limit"), "filterPattern", "2")
		if !slices.IsSortedFunc(events, func(a, b filteredEvent) int { return int(a.Timestamp - b.Timestamp) }) {
			r.Fatalf("not in the order of time: %q", messages(events))
		}
		got := messages(events)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

// A search that finds little answers in time: with a part, and a token for the rest.
func TestASearchLooksAtSoManyLinesForOneAnswer(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	needle := append(numbered(maxScanned+5, 1000), at(600_000, "needle"))
	w.run(t, "f", "one", "h", needle...)
	w.run(t, "f", "two", "h", at(1, "needle too"))
	first := w.call(t, "FilterLogEvents", in{"logGroupName": "g", "filterPattern": "needle"})
	if first.NextToken == "" || len(first.Events) != 1 {
		t.Errorf("%d events, token %q", len(first.Events), first.NextToken)
	}
	same(t, "all pages", messages(w.filter(t, "filterPattern", "needle")), []string{"needle too", "needle"})
}

func TestALargeGroupComesInTurns(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	for i := range 2*maxSearchedStreams + 1 {
		w.run(t, "f", fmt.Sprintf("%04d", i), "h", at(float64(i), "a"), at(float64(i), "b"))
	}
	seen := map[string]bool{}
	for _, e := range w.filter(t, "limit", 70) {
		seen[e.EventID] = true
	}
	if len(seen) != 2*(2*maxSearchedStreams+1) {
		t.Errorf("%d different events", len(seen))
	}
}

// Tasks are forgotten while somebody reads on: what others wrote must not be passed over for it.
func TestNothingIsLostWhenStreamsGoAwayBetweenPages(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	const streams = maxSearchedStreams + 50
	for i := range streams {
		w.run(t, "f", fmt.Sprintf("%04d", i), "h", at(float64(i%10), "x"))
	}
	page := w.call(t, "FilterLogEvents", in{"logGroupName": "g", "limit": 60})
	seen := len(page.Events)
	for i := range 20 {
		w.stopTask(t, fmt.Sprintf("%04d", 10*(i/2)), "h", epoch) // the ones that were read first
	}
	w.do(t, raftfsm.Reap{Before: epoch.Add(time.Hour)})
	seen += len(w.filter(t, "nextToken", page.NextToken, "limit", 60))
	if seen != streams {
		t.Errorf("%d events of %d streams", seen, streams)
	}
}

func TestStreamsOfTasksThatDidNotLiveThenAreNotRead(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.run(t, "f", "ended", "away", at(1, "a"))
	w.stopTask(t, "ended", "away", epoch.Add(time.Second))
	w.run(t, "f", "running", "h", at(300_000, "b"))
	w.down["away"] = true
	page := w.call(t, "FilterLogEvents", in{"logGroupName": "g", "startTime": epoch.Add(2 * time.Minute).UnixMilli()})
	same(t, "events", page.texts(), []string{"b"})
	if len(page.SearchedLogStreams) != 0 {
		t.Errorf("%+v", page.SearchedLogStreams)
	}
}

// A host's clock is ten minutes behind that of the leader, which says when the task was created: the lines have the host's.
func TestNoEventIsLostOnAHostWhoseClockIsBehind(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.run(t, "f", "one", "h", at(-600_000, "a"), at(-599_000, "b"))
	w.do(t, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "one", Status: spec.Running, Times: spec.TaskTimes{PullStarted: epoch.Add(-10 * time.Minute)}}}})
	same(t, "events", messages(w.filter(t, "endTime", epoch.Add(-9*time.Minute).UnixMilli())), []string{"a", "b"})
}

// One host that is away does not hide the logs of all others, and the answer says whose are missing.
func TestAHostThatCannotTellIsNamed(t *testing.T) {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.run(t, "f", "one", "host-1", at(1, "a"))
	w.run(t, "f", "two", "host-2", at(2, "b"))
	w.down["host-2"] = true
	page := w.call(t, "FilterLogEvents", in{"logGroupName": "g"})
	same(t, "events", page.texts(), []string{"a"})
	if !slices.Equal(page.SearchedLogStreams, []searchedStream{{"p/c/two", false}}) || len(page.warnings) != 1 || !strings.Contains(page.warnings[0], "host-2") {
		t.Errorf("%+v %q", page.SearchedLogStreams, page.warnings)
	}
	w.wantError(t, "FilterLogEvents", in{"logGroupName": "g", "logStreamNames": []string{"p/c/two"}}, Unavailable, "No log stream can be read now: host host-2 cannot be reached. Try again.")
}

func TestWhatFilterLogEventsRefuses(t *testing.T) {
	w := oneStream(t, at(1, "a"))
	const invalid = "InvalidParameterException"
	w.wantError(t, "FilterLogEvents", in{"logGroupName": "x"}, notFound, "The specified log group does not exist.")
	w.wantError(t, "FilterLogEvents", in{"logGroupName": "g", "logStreamNames": []string{"no"}}, notFound, "The specified log stream does not exist.")
	w.wantError(t, "FilterLogEvents", in{"logGroupName": "g", "logStreamNames": []string{"p/c/one"}, "logStreamNamePrefix": "p"}, invalid, "logStreamNames and logStreamNamePrefix are mutually exclusive: give one of them.")
	w.wantError(t, "FilterLogEvents", in{"logGroupName": "g", "nextToken": "f/1/1"}, invalid, "The specified nextToken is invalid: it is not one that this operation gave out.")
	w.wantError(t, "FilterLogEvents", in{"logGroupName": "g", "limit": 10_001}, invalid, "limit must be between 1 and 10000, not 10001.")
}

// A key that is for one cluster knows nothing of the tasks of others.
func TestTasksOfOtherClustersAreNotThere(t *testing.T) {
	w := oneStream(t, at(1, "a"))
	for cluster, want := range map[string]int{"": 1, "default": 1, "lab": 0} {
		call := &Request{View: w.state.View(), Logs: w, KeyClusters: auth.KeyClusters(cluster)}
		streams, err := call.streams("g")
		if _, missing := call.stream("g", "p/c/one"); len(streams) != want || (err == nil) != (want == 1) || (missing == nil) != (want == 1) {
			t.Errorf("a key for %q: %d streams, %v, %v", cluster, len(streams), err, missing)
		}
	}
}

var _ Logs = (*fixture)(nil)

func TestFilterPatterns(t *testing.T) {
	for pattern, c := range map[string]struct{ yes, no []string }{
		"":                     {[]string{"anything"}, nil},
		"ERROR":                {[]string{"an ERROR: x", "ERRORS"}, []string{"error"}},
		"ERROR loss":           {[]string{"loss ERROR"}, []string{"ERROR", "loss"}},
		`"GPU 0: H100"`:        {[]string{"found GPU 0: H100 80GB"}, []string{"H100 GPU 0:"}},
		`"say \"hi\""`:         {[]string{`they say "hi"`}, []string{"say hi"}},
		"ERROR -retry":         {[]string{"ERROR"}, []string{"ERROR, retry", "retry"}},
		`-"no such file"`:      {[]string{"fine"}, []string{"no such file"}},
		`?WARN ?"out of memo"`: {[]string{"WARN", "out of memory"}, []string{"fine"}},
		"  spaced   out  ":     {[]string{"out spaced"}, []string{"spaced"}},
	} {
		p, err := parsePattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, text := range append(slices.Clone(c.yes), c.no...) {
			if got := p.matches(text); got != slices.Contains(c.yes, text) {
				t.Errorf("%s in %q: %v", pattern, text, got)
			}
		}
	}
	for pattern, want := range map[string]string{
		`{ $.level = "x" }`: "patterns for JSON ({...})", "[ip, user]": "patterns for columns ([...])", "%[0-9]+%": "regular expressions (%...%)",
		"?a b": "terms with ?", "a:b": "goes in quotes", `"open`: "cannot read", "- a": "cannot read", strings.Repeat("a", 1025): "1024 characters",
	} {
		if _, err := parsePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func FuzzFilterPattern(f *testing.F) {
	f.Add(`ERROR -retry "out of \"memory\""`, "line")
	f.Add("?a ?b", "b")
	f.Fuzz(func(t *testing.T, text, line string) {
		if p, err := parsePattern(text); err == nil {
			p.matches(line)
		}
	})
}
