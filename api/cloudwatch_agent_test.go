package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/api/httpx"
)

// An agent names the clients of requests that it forwards, for the audit log. It gets no more of these slots by it.
func TestAnAgentReadsLogsForNobodyElse(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = NewShared()
	reads := b.config.Shared.logReads
	for held := true; held; _, held = reads.TryAcquire("192.0.2.1:1") {
	}
	for server, want := range map[bool]int{false: http.StatusServiceUnavailable, true: http.StatusOK} {
		b.config.FromPeer = sentBy("somebody", server)
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header.Set("X-Amz-Target", "Logs_20140328.DescribeLogGroups")
		r.Header.Set(httpx.HeaderClient, "192.0.2.9:9")
		if r.RemoteAddr = "192.0.2.1:2"; b.serve(r).Code != want {
			t.Errorf("from a host that is a server %v: not %d", server, want)
		}
	}
}
