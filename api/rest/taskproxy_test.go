package rest

import (
	"net/http"
	"slices"
	"testing"
)

// Root of a task's host writes the answer, and leads no client elsewhere with it, nor tells other hosts anything of the pool.
func TestAnAnswerOfATasksHostIsAnAnswerAlone(t *testing.T) {
	for status, want := range map[int]int{200: 200, 404: 404, 503: 503, 101: 502, 204: 502, 307: 502, 401: 502, 999: 502} {
		header := http.Header{"Content-Type": {"text/plain", "text/html"}, "Content-Encoding": {"gzip"}}
		for _, name := range []string{"Location", "Set-Cookie", "X-Pinion-Not-Leader", "X-Pinion-State-Match", "X-Pinion-Warning", "Alt-Svc", "Www-Authenticate"} {
			header.Set(name, "evil")
		}
		got := ofTaskHost(&http.Response{StatusCode: status, Header: header})
		if got.StatusCode != want {
			t.Errorf("status %d becomes %d", status, got.StatusCode)
		}
		for name, values := range got.Header {
			if !slices.Contains([]string{"Content-Type", "Content-Encoding"}, name) || len(values) != 1 {
				t.Errorf("%s: %q", name, values)
			}
		}
	}
}
