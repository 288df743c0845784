package cloudwatchlogs

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

func oneStream(t testing.TB, lines ...spec.LogLine) *fixture {
	w := newFixture(t)
	w.define(t, "f", "g")
	w.run(t, "f", "one", "h", lines...)
	return w
}

// get is GetLogEvents of the stream, with further members in pairs.
func (w *fixture) get(t testing.TB, members ...any) answer {
	t.Helper()
	input := in{"logGroupName": "g", "logStreamName": "p/c/one"}
	for i := 0; i < len(members); i += 2 {
		input[members[i].(string)] = members[i+1]
	}
	return w.call(t, "GetLogEvents", input)
}

func TestGetLogEventsBeginsWithTheLatestUnlessToldOtherwise(t *testing.T) {
	w := oneStream(t, numbered(10, 3)...)
	same(t, "everything", w.get(t).texts(), texts(numbered(10, 3)))
	same(t, "the latest", w.get(t, "limit", 2).texts(), []string{"line 8", "line 9"})
	same(t, "the earliest", w.get(t, "limit", 2, "startFromHead", true).texts(), []string{"line 0", "line 1"})
	first := w.get(t, "limit", 1, "startFromHead", true).Events[0]
	if first.Timestamp != epoch.UnixMilli() || first.IngestionTime != first.Timestamp {
		t.Errorf("%+v", first)
	}
}

// A start is part of its span and an end is not; both are milliseconds, while lines have nanoseconds.
func TestGetLogEventsWithinASpan(t *testing.T) {
	w := oneStream(t, at(1, "a"), at(1.5, "b"), at(2, "c"), at(3.999, "d"), at(4, "e"))
	ms := epoch.UnixMilli()
	for _, head := range []bool{false, true} {
		same(t, "from", w.get(t, "startFromHead", head, "startTime", ms+2).texts(), []string{"c", "d", "e"})
		same(t, "until", w.get(t, "startFromHead", head, "endTime", ms+4).texts(), []string{"a", "b", "c", "d"})
		same(t, "both", w.get(t, "startFromHead", head, "startTime", ms+1, "endTime", ms+2).texts(), []string{"a", "b"})
		same(t, "nothing", w.get(t, "startFromHead", head, "startTime", ms+100).texts(), nil)
		same(t, "the wrong way round", w.get(t, "startFromHead", head, "startTime", ms+3, "endTime", ms+1).texts(), nil)
	}
}

// Scripts follow a stream by asking again with the token that they got, and know the end by getting the same one.
func TestAStreamIsFollowedByItsForwardToken(t *testing.T) {
	w := oneStream(t, numbered(4, 4)...)
	all := w.get(t, "startFromHead", true)
	end := w.get(t, "nextToken", all.NextForwardToken)
	if len(end.Events) != 0 || end.NextForwardToken != all.NextForwardToken || !strings.HasPrefix(end.NextForwardToken, "f/") {
		t.Errorf("at the end: %+v after %q", end, all.NextForwardToken)
	}
	w.logs["one/c"] = append(w.logs["one/c"], at(0, "with the same stamp"), at(7, "later"))
	same(t, "what came since", w.get(t, "nextToken", end.NextForwardToken).texts(), []string{"with the same stamp", "later"})
	begin := w.get(t, "nextToken", all.NextBackwardToken)
	if len(begin.Events) != 0 || begin.NextBackwardToken != all.NextBackwardToken {
		t.Errorf("at the beginning: %+v before %q", begin, all.NextBackwardToken)
	}
}

func TestAStreamThatIsEmptyHasTokensToo(t *testing.T) {
	w := oneStream(t)
	for _, head := range []bool{false, true} {
		w.logs["one/c"] = nil
		empty := w.get(t, "startFromHead", head)
		if again := w.get(t, "nextToken", empty.NextForwardToken); again.NextForwardToken != empty.NextForwardToken {
			t.Errorf("%+v", again)
		}
		w.logs["one/c"] = numbered(2, 1)
		same(t, "what came since", w.get(t, "nextToken", empty.NextForwardToken).texts(), []string{"line 0", "line 1"})
	}
}

// Whatever the stamps and the pages: each line comes once and in order, forwards and backwards.
func TestPagesOfAStreamAreWholeInBothDirections(t *testing.T) {
	w := oneStream(t)
	rapid.Check(t, func(r *rapid.T) {
		lines := numbered(rapid.IntRange(0, 60).Draw(r, "lines"), rapid.IntRange(1, 20).Draw(r, "together"))
		w.logs["one/c"] = lines
		limit := rapid.IntRange(1, 25).Draw(r, "limit")
		var forward, backward []string
		page := w.get(t, "limit", limit, "startFromHead", true)
		for len(page.Events) > 0 {
			forward = append(forward, page.texts()...)
			page = w.get(t, "limit", limit, "nextToken", page.NextForwardToken)
		}
		for page = w.get(t, "limit", limit); len(page.Events) > 0; page = w.get(t, "limit", limit, "nextToken", page.NextBackwardToken) {
			backward = append(page.texts(), backward...)
		}
		if want := texts(lines); !slices.Equal(forward, want) || !slices.Equal(backward, want) {
			r.Fatalf("forward %q\nbackward %q\nwant %q", forward, backward, want)
		}
	})
}

// The end of a long stream is read from its end, without going through all of it.
func TestTheEndOfALongStreamIsReadAlone(t *testing.T) {
	w := oneStream(t, numbered(50_000, 7)...)
	got := w.get(t, "limit", 3)
	same(t, "the end", got.texts(), []string{"line 49997", "line 49998", "line 49999"})
	if read := w.lines.Load(); read > 5000 {
		t.Errorf("%d lines were read", read)
	}
	same(t, "and on", w.get(t, "limit", 2, "nextToken", got.NextBackwardToken).texts(), []string{"line 49995", "line 49996"})

	w.logs["one/c"] = numbered(20_000, 20_000) // one stamp for all
	got = w.get(t, "limit", 3)
	same(t, "the end", got.texts(), []string{"line 19997", "line 19998", "line 19999"})
	same(t, "and on", w.get(t, "limit", 2, "nextToken", got.NextBackwardToken).texts(), []string{"line 19995", "line 19996"})
}

func TestAnAnswerHasAMebibyteOfLinesOrASingleOne(t *testing.T) {
	half := strings.Repeat("x", maxBytes/2)
	w := oneStream(t, at(1, half), at(2, half), at(3, strings.Repeat("y", 2*maxBytes)))
	page := w.get(t, "startFromHead", true)
	for i, want := range []byte{'x', 'x', 'y'} {
		if len(page.Events) != 1 || page.Events[0].Message[0] != want {
			t.Fatalf("page %d has %d events", i, len(page.Events))
		}
		page = w.get(t, "nextToken", page.NextForwardToken)
	}
}

// The log driver of AWS makes no event of an empty line either.
func TestEmptyLinesAreNoEvents(t *testing.T) {
	w := oneStream(t, at(1, "a"), at(1, ""), at(1, "b"), at(2, ""))
	page := w.get(t, "startFromHead", true, "limit", 1)
	same(t, "the rest", w.get(t, "nextToken", page.NextForwardToken).texts(), []string{"b"})
	same(t, "the latest", w.get(t, "limit", 1).texts(), []string{"b"})
}

func TestWhatGetLogEventsRefuses(t *testing.T) {
	w := oneStream(t, at(1, "a"))
	const invalid = "InvalidParameterException"
	w.wantError(t, "GetLogEvents", in{"logGroupName": "x", "logStreamName": "p/c/one"}, notFound, "The specified log group does not exist.")
	for _, name := range []string{"", "p/c/two", "q/c/one", "p/d/one", "one"} {
		w.wantError(t, "GetLogEvents", in{"logGroupName": "g", "logStreamName": name}, notFound, "The specified log stream does not exist.")
	}
	stream := in{"logGroupName": "g", "logStreamName": "p/c/one"}
	with := func(name string, value any) in {
		return in{"logGroupName": stream["logGroupName"], "logStreamName": stream["logStreamName"], name: value}
	}
	for _, token := range []string{"x", "f/", "f/-1/0", "f/1/-1", "g/1/1", "f/1/1/1"} {
		w.wantError(t, "GetLogEvents", with("nextToken", token), invalid, "The specified nextToken is invalid: it is not one that this operation gave out.")
	}
	w.wantError(t, "GetLogEvents", with("limit", 0), invalid, "limit must be between 1 and 10000, not 0.")
	w.wantError(t, "GetLogEvents", with("limit", 10_001), invalid, "limit must be between 1 and 10000, not 10001.")
	w.wantError(t, "GetLogEvents", with("startTime", -1), invalid, "-1 is not a time in milliseconds since 1970.")
	w.wantError(t, "GetLogEvents", with("endTime", int64(1)<<62), invalid, "4611686018427387904 is not a time in milliseconds since 1970.")
	w.wantError(t, "GetLogEvents", with("logGroupIdentifier", "g"), invalid, "logGroupName and logGroupIdentifier say the same: give one of them.")
	w.wantError(t, "GetLogEvents", with("startTime", "now"), "SerializationException", "startTime must be an integer, not a string")
	w.down["h"] = true
	w.wantError(t, "GetLogEvents", stream, Unavailable, "The log stream p/c/one cannot be read now: host h cannot be reached. Try again.")
}
