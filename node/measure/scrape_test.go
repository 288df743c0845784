package measure

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/metric"
)

// exporting is the sample of a task that answers like this, when these metrics are wanted of it.
func exporting(t *testing.T, answer http.HandlerFunc, times int, names ...string) map[metric.Name]float64 {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	number, _ := strconv.Atoi(port)
	s := newSampler(&Meter{Address: net.JoinHostPort(host, "7400"), Log: slog.New(slog.DiscardHandler)})
	wanted := []metric.SelectedTask{{ID: "t", Export: &metric.Export{Port: number, Path: "/stats", Names: names}}}
	found := map[metric.Name]float64{}
	for range times {
		clear(found)
		for _, m := range s.sample(t.Context(), wanted) {
			found[m.Name] = m.Value
		}
	}
	return found
}

const vllm = `# HELP vllm:num_requests_waiting Number of requests waiting.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="a # b"} 3
vllm:num_requests_waiting{engine="1",model_name="a"} 4.5
# TYPE tokens_total counter
tokens_total 5
# TYPE latency histogram
latency_bucket{le="1"} 2
latency_bucket{le="+Inf"} 3
latency_sum 4
latency_count 3
# TYPE broken gauge
broken NaN
plain 2
other 9
`

func TestMetricsThatATaskExports(t *testing.T) {
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stats" {
				fmt.Fprint(w, text)
			}
		}
	}
	got := exporting(t, says(vllm), 1, "vllm:num_requests_waiting", "plain", "latency", "broken", "tokens_total", "absent")
	if len(got) != 2 || got["Exported/vllm:num_requests_waiting"] != 7.5 || got["Exported/plain"] != 2 {
		t.Errorf("%v", got)
	}
	if got := exporting(t, says(vllm), 2, "tokens_total"); len(got) != 1 || got["Exported/tokens_total"] != 0 {
		t.Errorf("a counter that stands still: %v", got)
	}
	s := newSampler(&Meter{})
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		value, perSecond float64
		ok               bool
	}{{5, 0, false}, {25, 2, true}, {1, 0, false}, {11, 1, true}} {
		if got, ok := s.growth("t/n", counter{c.value, at}); got != c.perSecond || ok != c.ok {
			t.Errorf("%v: %v %v", c.value, got, ok)
		}
		at = at.Add(10 * time.Second)
	}
	if s.forget(nil); len(s.counters) > 0 {
		t.Error("counters of tasks that are gone are kept")
	}
}

// Whatever a task answers, nothing is measured of it, and what is read ends.
func TestWhatATaskExportsIsReadWithinBounds(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "m 1") }))
	defer elsewhere.Close()
	endless := func(line string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, line); err != nil {
					return
				}
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"an endless answer": endless("other 1\n"),
		"an endless line":   endless("m"),
		"a metric of endless parts": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("m{a=\"b\"} 1\n", maxSeries+1))
		},
		"a redirect":        func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"an error":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprintln(w, "m 1") },
		"no metrics":        func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "m {{{") },
		"less than nothing": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "m -1") },
		"infinity":          func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "m +Inf") },
		"a header without end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 2*maxScrapeHeader))
			fmt.Fprintln(w, "m 1")
		},
	} {
		if got := exporting(t, answer, 1, "m"); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := exporting(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "m 1") }, 1, "m"); got["Exported/m"] != 1 {
		t.Errorf("nothing is measured at all: %v", got)
	}
}
