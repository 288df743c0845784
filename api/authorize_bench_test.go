package api

import (
	"net/http/httptest"
	"testing"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// BenchmarkAuthorize makes one request with a key that is held to a cluster, teams and every limit, and with an administrator's: the
// difference is what the rights of a key cost a request.
func BenchmarkAuthorize(b *testing.B) {
	f, priority, gpus := newFixture(b), 10, 8
	admin := f.withKey(b, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	bound := f.withKey(b, accesskey.Key{ID: "AKIABOUND", Role: accesskey.RoleSubmit, Cluster: spec.DefaultCluster, Grant: accesskey.Grant{
		Teams: []string{"vision"}, MaxPriority: &priority, MaxTasks: 5, MaxWaiting: 5, MaxGPUs: &gpus, MaxRevisions: 5, RequestsPerSecond: 1_000_000}})
	handler := NewHandler(f.config)
	timed := func(bearer string) float64 {
		r, w := restRequest("ListTasks", `{}`), httptest.NewRecorder()
		r.Header.Set("Authorization", bearer)
		started := time.Now()
		handler.ServeHTTP(w, r)
		spent := time.Since(started).Seconds()
		if w.Code != 200 {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
		return spent
	}
	var withBound, withAdmin float64
	for b.Loop() {
		withBound, withAdmin = withBound+timed(bound), withAdmin+timed(admin)
	}
	b.ReportMetric((withBound-withAdmin)/float64(b.N), "rights-sec")
	b.ReportMetric(withAdmin/float64(b.N), "admin-sec")
}
