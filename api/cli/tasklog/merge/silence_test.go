package merge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/cli/tasklog"
	"pinion/api/client"
)

// A search that waits for its turn at a host, or finds nothing in a long log, is none of a host that does not answer. One whose host has not begun to answer
// is, and so is a log that is read without a pattern.
func TestASearchMayBeSilentOnceItsHostAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		grep  string
		begun bool
		want  error
	}{
		"search":             {grep: "error", begun: true},
		"search, no answer":  {grep: "error", want: errSilent},
		"log":                {begun: true, want: errSilent},
		"log without answer": {want: errSilent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New(t.Context(), nil, client.LogQuery{Grep: c.grep})
				q := m.queues.add(source(0))
				ctx, end := context.WithCancelCause(t.Context())
				defer end(nil)
				s := &stream{}
				s.begun.Store(c.begun)
				s.heard.Store(time.Now().UnixNano())
				go m.watch(ctx, end, q, s)
				time.Sleep(silence + 5*time.Second)
				if got := context.Cause(ctx); !errors.Is(got, c.want) || got != nil && c.want == nil {
					t.Errorf("it ends with %v", got)
				}
			})
		})
	}
}

// A host has begun to answer with the beginning of its response, before it has a line to send.
func TestAHostAnswersBeforeItHasALine(t *testing.T) {
	h := &logHost{}
	inv, _ := h.serve(t)
	query := client.LogQuery{Task: "0", Grep: "error"}
	m, s := New(t.Context(), inv, query), &stream{}
	progressed, err := m.readTurn(t.Context(), m.queues.add(source(0)), tasklog.NewPosition(true), &query, s)
	if err != nil || progressed || !s.begun.Load() {
		t.Errorf("a line %t, begun %t, %v", progressed, s.begun.Load(), err)
	}
}
