package cloudwatch

import (
	"io"
	"net/http"
	"strings"
	"testing"

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
