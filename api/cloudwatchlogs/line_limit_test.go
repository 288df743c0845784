package cloudwatchlogs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm/spec"
)

// endless is one letter without end, and how much of it was read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// The host that is asked for the log of its task may send anything.
func TestALineWithoutEndIsGivenUp(t *testing.T) {
	const short = `{"text":"short"}` + "\n"
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		rest, lines := &endless{}, 0
		body := io.MultiReader(strings.NewReader(strings.Repeat(short, 3)+`{"text":"`), io.LimitReader(rest, 64*maxLineBytes))
		err := readLines("h", &http.Response{StatusCode: status, Body: io.NopCloser(body)}, func(spec.LogLine) error { lines++; return nil })
		if err == nil || status == http.StatusOK && lines != 3 || rest.read > 2*maxLineBytes {
			t.Errorf("%d: %d lines, %d bytes of the next one were read, %v", status, lines, rest.read, err)
		}
	}
	many := strings.NewReader(strings.Repeat(short, 3*maxLineBytes/len(short)))
	if err := readLines("h", &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(many)}, func(spec.LogLine) error { return nil }); err != nil {
		t.Errorf("many short lines: %v", err)
	}
}

// drip is the answer of a host that begins at once and never ends: a line every few seconds, or none.
type drip struct {
	ctx   context.Context
	every time.Duration
}

func (d drip) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(drip{r.Context(), d.every})}, nil
}

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(d.every):
		return copy(p, "{}\n"), nil
	}
}

// It may also begin and never end, and holds a slot of those who read logs no longer than a minute.
func TestALogWithoutEndIsGivenUp(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 9 * time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			response, end, err := askLogs(t.Context(), &httpx.Peers{HostID: "here", Transport: drip{every: every}}, "192.0.2.1:7400", spec.LogQuery{Task: "a"})
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			err = readLines("h", response, func(spec.LogLine) error { return nil })
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != maxRead {
				t.Errorf("a line every %v: %v after %v", every, err, took)
			}
		})
	}
}
