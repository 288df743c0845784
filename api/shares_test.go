package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/accesskey"
)

// A task that asks by the key of its role has slots of its own: it takes none from its host, nor from the others there.
func TestATaskReadsLogsOnItsOwnAccount(t *testing.T) {
	b := newRoles(t)
	b.config.Shared = NewShared()
	reads := b.config.Shared.logReads
	b.config.FromPeer = sentBy("agent", false)
	asks := func() *http.Request {
		r := httptest.NewRequest("POST", "/", strings.NewReader("{}"))
		r.Header.Set("X-Amz-Target", "Logs_20140328.DescribeLogGroups")
		r.RemoteAddr = "192.0.2.1:2" // of the agent
		return r
	}
	asTask := func() int { return b.withSecurityToken(t, epoch.Add(time.Hour), nil, asks()).Code }
	ofHost, ofTask := 0, 0
	for held := true; held; ofHost++ {
		_, held = reads.TryAcquire("192.0.2.1:1")
	}
	if got := b.serve(asks()); got.Code != http.StatusServiceUnavailable {
		t.Errorf("the host has all of its slots, and one more: %d", got.Code)
	}
	if code := asTask(); code != http.StatusOK {
		t.Errorf("a task of it: %d", code)
	}
	for held := true; held; ofTask++ {
		_, held = reads.TryAcquireTask(hostOfLab, taskOfRole)
	}
	if code := asTask(); code != http.StatusServiceUnavailable || ofTask >= ofHost {
		t.Errorf("a task with %d slots gets one more: %d", ofTask, code)
	}
	if _, held := reads.TryAcquireTask(hostOfLab, "another"); !held {
		t.Error("another task of the host gets none")
	}
	tasks := ofTask
	for i := range 64 {
		if _, held := reads.TryAcquireTask(hostOfLab, strings.Repeat("x", i)); held {
			tasks++
		}
	}
	if tasks > ofHost {
		t.Errorf("root of the host has %d slots by its tasks, and %d itself", tasks, ofHost)
	}
	b.config.FromPeer = nil // a host that is a server: requests of a task come from the address of its container
	if code := asTask(); code != http.StatusServiceUnavailable {
		t.Errorf("beside tasks that have all slots of their host, one at another address: %d", code)
	}
}

// Holders of access keys leave room for the long lists of others, however many lists they ask for.
func TestOneOwnerPutsHalfOfTheListsTogether(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	b.config.Shared = NewShared()
	one, other := b.withKey(t, accesskey.Key{ID: "AKIAONE", Role: accesskey.RoleRead}), b.withKey(t, accesskey.Key{ID: "AKIAOTHER", Role: accesskey.RoleRead})
	for _, owner := range []string{"AKIAONE", "AKIATWO", "AKIATHREE"} {
		for held := true; held; {
			_, held = b.config.Shared.limits.Lists.TryAcquire(owner)
		}
	}
	for path, ok := range map[string]int{"/v1/hosts": http.StatusOK, "/v1/gpus/usage": http.StatusOK, "/v1/services/progress?service=nope": http.StatusBadRequest} {
		for bearer, want := range map[string]int{one: http.StatusServiceUnavailable, other: ok} {
			if got := b.as(bearer, httptest.NewRequest("GET", path, nil)); got.Code != want {
				t.Errorf("%s: %d instead of %d: %s", path, got.Code, want, got.Body)
			}
		}
	}
}
