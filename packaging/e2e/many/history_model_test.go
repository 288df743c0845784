package many

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// familyRequest is a request of a history, about one family of task definitions.
type familyRequest struct {
	kind     requestKind
	mark     string // of a registration, never used twice
	revision int    // of a deregistration or an exact description
}

type requestKind int

const (
	register   requestKind = iota
	deregister             // one revision
	latest                 // describe the latest ACTIVE revision
	exact                  // describe one revision
)

// familyResponse is the answer to a client. It is unknown for a request without an answer, which may take effect at any time
// since.
type familyResponse struct {
	unknown  bool
	found    bool
	revision int
	mark     string
	active   bool
}

// revision is one of a family, which counts them from 1 in the order of their registrations.
type revision struct {
	mark   string
	active bool
}

// familyModel is a family of task definitions on a single machine that does one thing after the other.
var familyModel = porcupine.Model{
	Init:  func() any { return []revision(nil) },
	Equal: func(a, b any) bool { return slices.Equal(a.([]revision), b.([]revision)) },
	Step: func(state, in, out any) (bool, any) {
		revisions, answer := state.([]revision), out.(familyResponse)
		next, want := applyRequest(revisions, in.(familyRequest))
		return answer.unknown || answer == want, next
	},
}

// applyRequest returns the revisions after a request, and its answer.
func applyRequest(revisions []revision, a familyRequest) ([]revision, familyResponse) {
	n := a.revision
	switch a.kind {
	case register:
		revisions = append(slices.Clip(revisions), revision{a.mark, true})
		n = len(revisions)
	case deregister:
		if n <= len(revisions) {
			revisions = slices.Clone(revisions)
			revisions[n-1].active = false
		}
	case latest:
		for n = len(revisions); n > 0 && !revisions[n-1].active; {
			n--
		}
	}
	if n < 1 || n > len(revisions) {
		return revisions, familyResponse{}
	}
	return revisions, familyResponse{found: true, revision: n, mark: revisions[n-1].mark, active: revisions[n-1].active}
}

// neverReturned is the end of a request without an answer: it can take effect until then.
const neverReturned = time.Duration(1<<63 - 1)

func operation(client int, began, ended time.Duration, in familyRequest, out familyResponse) porcupine.Operation {
	if out.unknown {
		ended = neverReturned
	}
	return porcupine.Operation{ClientId: client, Input: in, Call: int64(began), Output: out, Return: int64(ended)}
}

// resolveUnknown are the operations with what the revisions at the very end tell about those without an answer: which of the
// registrations were done, and as what; and that a revision which is still ACTIVE was not deregistered. Without it the
// ways to order a history double with each of them.
func resolveUnknown(operations []porcupine.Operation, final []revision) []porcupine.Operation {
	var known []porcupine.Operation
	for _, o := range operations {
		in, out := o.Input.(familyRequest), o.Output.(familyResponse)
		done := true
		switch {
		case out.unknown && in.kind == register:
			n := slices.IndexFunc(final, func(r revision) bool { return r.mark == in.mark })
			o.Output, done = familyResponse{found: true, revision: n + 1, mark: in.mark, active: true}, n >= 0
		case out.unknown && in.kind == deregister:
			done = in.revision <= len(final) && !final[in.revision-1].active
		}
		if done {
			known = append(known, o)
		}
	}
	return known
}

func TestTheEndTellsWhatWasDone(t *testing.T) {
	unknown := familyResponse{unknown: true}
	done := familyResponse{found: true, revision: 1, mark: "a", active: true}
	history := []porcupine.Operation{
		operation(0, 0, 1, familyRequest{kind: register, mark: "a"}, unknown),
		operation(0, 2, 3, familyRequest{kind: register, mark: "b"}, unknown),
		operation(0, 4, 5, familyRequest{kind: deregister, revision: 1}, unknown),
		operation(0, 6, 7, familyRequest{kind: deregister, revision: 2}, unknown),
		operation(0, 8, 9, familyRequest{kind: latest}, done),
	}
	got := resolveUnknown(history, []revision{{"a", true}})
	if len(got) != 2 || got[0].Output != done || got[0].Return != int64(neverReturned) || got[1].Output != done {
		t.Errorf("still there: %+v", got)
	}
	got = resolveUnknown(history, []revision{{"a", false}})
	if len(got) != 3 || got[1].Output != unknown {
		t.Errorf("deregistered: %+v", got)
	}
}

func TestHistoriesThatNoFamilyCanHaveAreNoticed(t *testing.T) {
	at := func(began, ended time.Duration, in familyRequest, out familyResponse) porcupine.Operation {
		return operation(0, began, ended, in, out)
	}
	told := func(revision int, mark string, active bool) familyResponse {
		return familyResponse{found: true, revision: revision, mark: mark, active: active}
	}
	a, b, read, drop := familyRequest{kind: register, mark: "a"}, familyRequest{kind: register, mark: "b"}, familyRequest{kind: latest}, familyRequest{kind: deregister, revision: 1}
	unknown := familyResponse{unknown: true}
	for name, c := range map[string]struct {
		history []porcupine.Operation
		wanted  bool
	}{
		"one after the other": {[]porcupine.Operation{
			at(0, 1, read, familyResponse{}), at(2, 3, a, told(1, "a", true)), at(4, 5, read, told(1, "a", true)), at(6, 7, drop, told(1, "a", false)),
			at(8, 9, read, familyResponse{}), at(10, 11, b, told(2, "b", true)), at(12, 13, familyRequest{kind: exact, revision: 1}, told(1, "a", false)),
		}, true},
		"at once, in any order":       {[]porcupine.Operation{at(0, 9, a, told(2, "a", true)), at(0, 9, b, told(1, "b", true)), at(1, 8, read, told(1, "b", true))}, true},
		"unknown and never done":      {[]porcupine.Operation{at(0, 1, a, unknown), at(2, 3, read, familyResponse{}), at(4, 5, b, told(1, "b", true))}, true},
		"unknown and done late":       {[]porcupine.Operation{at(0, 1, a, unknown), at(2, 3, read, familyResponse{}), at(4, 5, read, told(1, "a", true))}, true},
		"a stale description":         {[]porcupine.Operation{at(0, 1, a, told(1, "a", true)), at(2, 3, read, familyResponse{})}, false},
		"a stale description of one":  {[]porcupine.Operation{at(0, 1, a, told(1, "a", true)), at(2, 3, drop, told(1, "a", false)), at(4, 5, familyRequest{kind: exact, revision: 1}, told(1, "a", true))}, false},
		"a registration is lost":      {[]porcupine.Operation{at(0, 1, a, told(1, "a", true)), at(2, 3, b, told(1, "b", true))}, false},
		"done twice":                  {[]porcupine.Operation{at(0, 1, a, told(1, "a", true)), at(2, 3, b, told(3, "b", true))}, false},
		"done before it was asked":    {[]porcupine.Operation{at(0, 1, read, told(1, "a", true)), at(2, 3, a, told(1, "a", true))}, false},
		"seen, and then not any more": {[]porcupine.Operation{at(0, 1, a, unknown), at(2, 3, read, told(1, "a", true)), at(4, 5, read, familyResponse{})}, false},
		"a number was told to two":    {[]porcupine.Operation{at(0, 9, a, told(1, "a", true)), at(0, 9, b, told(1, "b", true))}, false},
	} {
		if got := porcupine.CheckOperations(familyModel, c.history); got != c.wanted {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
