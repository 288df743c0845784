package logforward

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pinion/raftfsm/logdriver"
)

// eventCollector is one of Splunk's, which takes events with the token of a test.
type eventCollector struct {
	mu     sync.Mutex
	events []map[string]any
	status int    // of the next answers; 0: what the request deserves
	refuse string // an event with this text is invalid
}

func (c *eventCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	if r.Header.Get("Authorization") != "Splunk hunter2" || r.URL.Path != "/services/collector/event/1.0" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"text":"Invalid token","code":4,"given":%q}`, r.Header.Get("Authorization"))
		return
	}
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		in, _ = gzip.NewReader(r.Body)
	}
	var got []map[string]any
	for d := json.NewDecoder(in); ; {
		event := map[string]any{}
		if d.Decode(&event) != nil {
			break
		}
		if c.refuse != "" && strings.Contains(fmt.Sprint(event["event"]), c.refuse) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"text":"Invalid data format","code":6}`)
			return
		}
		got = append(got, event)
	}
	c.events = append(c.events, got...)
}

func (c *eventCollector) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *eventCollector) count() (n int) {
	c.set(func() { n = len(c.events) })
	return n
}

func newEventCollector(t *testing.T) (c *eventCollector, url, allowed string) {
	t.Helper()
	c = &eventCollector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL, strings.Replace(server.URL, "http://", "tcp://", 1)
}

func TestSplunk(t *testing.T) {
	for format, want := range map[string]any{
		"":       map[string]any{"line": `{"n":0}`, "source": "stdout", "tag": "t", "attrs": map[string]any{"team": "a"}},
		"json":   map[string]any{"line": map[string]any{"n": 0.0}, "source": "stdout", "tag": "t", "attrs": map[string]any{"team": "a"}},
		"raw":    `t team=a {"n":0}`,
		"inline": map[string]any{"line": `{"n":0}`, "source": "stdout", "tag": "t", "attrs": map[string]any{"team": "a"}},
	} {
		c, url, allowed := newEventCollector(t)
		w := newLog(t)
		options := map[string]string{"splunk-url": url, "splunk-token": "hunter2", "tag": "t", "splunk-index": "main", "splunk-source": "s", "splunk-sourcetype": "st", "splunk-gzip": fmt.Sprint(format == "raw")}
		if format != "" {
			options["splunk-format"] = format
		}
		w.forward(logdriver.Splunk, options, allowed)
		w.write(`{"n":0}`)
		eventually(t, "the event", func() bool { return c.count() == 1 })
		e := c.events[0]
		if fmt.Sprint(e["event"]) != fmt.Sprint(want) || e["host"] != "gpu-1" || e["index"] != "main" || e["source"] != "s" || e["sourcetype"] != "st" || e["time"] != "1800000000.000000" {
			t.Errorf("%q: %v", format, e)
		}
	}
}

// A collector that is overloaded gets the lines later, and one line that it never takes is left out, and counted.
func TestWhatACollectorRefuses(t *testing.T) {
	c, url, allowed := newEventCollector(t)
	c.status, c.refuse = http.StatusServiceUnavailable, "line 7"
	w := newLog(t)
	w.add(10, "line ")
	w.forward(logdriver.Splunk, map[string]string{"splunk-url": url, "splunk-token": "hunter2"}, allowed)
	eventually(t, "the failure", func() bool { return strings.Contains(w.said(), "503") })
	c.set(func() { c.status = 0 })
	eventually(t, "the others", func() bool { return c.count() == 9 })
	eventually(t, "the count", func() bool { return strings.Contains(w.said(), "rejected 1 lines") })
}

// Nothing of the token is in a message, and no redirect takes it elsewhere.
func TestATokenGoesToItsCollectorAlone(t *testing.T) {
	_, url, allowed := newEventCollector(t)
	w := newLog(t)
	w.add(1, "line ")
	w.forward(logdriver.Splunk, map[string]string{"splunk-url": url, "splunk-token": "another-token"}, allowed)
	eventually(t, "the failure", func() bool { return strings.Contains(w.said(), "403") })
	if strings.Contains(w.said(), "another-token") {
		t.Error(w.said())
	}
	elsewhere, other, _ := newEventCollector(t)
	server := httptest.NewServer(http.RedirectHandler(other+"/services/collector/event/1.0", http.StatusTemporaryRedirect))
	defer server.Close()
	v := newLog(t)
	v.add(1, "line ")
	f := v.forward(logdriver.Splunk, map[string]string{"splunk-url": server.URL, "splunk-token": "hunter2"}, strings.Replace(server.URL, "http://", "tcp://", 1))
	eventually(t, "the refusal", func() bool { return strings.Contains(v.said(), "307") })
	if err := f.Close(); err != nil || elsewhere.count() != 0 {
		t.Errorf("%d events of a redirect, %v", elsewhere.count(), err)
	}
}
