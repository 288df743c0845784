package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/api/auth/sigv4"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// Each request is wrong for every stage from one on, and right for those before: the first of the stages that it is wrong for
// refuses it.
func TestTheStagesRefuseInTheirOrder(t *testing.T) {
	b := newSignedFixture(t)
	const reader, admin, scoped = "AKIAREADER", "AKIAADMIN", "AKIASCOPED"
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	for _, key := range []accesskey.Key{{ID: reader, Role: accesskey.RoleRead}, {ID: admin, Role: accesskey.RoleAdmin}, {ID: scoped, Role: accesskey.RoleSubmit, Cluster: "lab"}} {
		key.Secret, key.CreatedAt = secret, epoch
		b.mustApply(t, raftfsm.Wrap(credential.Create{Key: key}))
	}
	bearer := func(credential, body string) *http.Request {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.StopTask")
		r.Header.Set("Content-Encoding", "gzip")
		if credential != "" {
			r.Header.Set("Authorization", "Bearer "+credential)
		}
		return r
	}
	large := strings.Repeat("x", httpx.MaxBody+1)
	stop := func(cluster string) string { return `{"cluster":"` + cluster + `","task":"` + firstTask + `"}` }
	tag := func(at time.Time) *http.Request {
		return signedAs(t, scoped, "TagResource", `{"resourceArn":"`+resourceARN("cluster/lab")+`","tags":[{"key":"k"}]}`, at)
	}
	for _, at := range []time.Time{epoch, epoch.Add(time.Second)} { // the second one supersedes the answer of the first
		if got := b.serve(tag(at)); got.Code != 200 {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	for _, c := range []struct {
		stage   string
		slots   int64
		request *http.Request
		refusal string
	}{
		{"form of the credentials", 0, bearer("", large), sigv4.MissingAuthenticationToken},
		{"size of the body", 0, bearer("nobody:x", large), httpx.TooLarge},
		{"requests in flight", 0, bearer("nobody:x", "no gzip"), httpx.Throttled},
		{"authentication", 1, bearer("nobody:x", "no gzip"), sigv4.UnrecognizedClient},
		{"role", 1, bearer(reader+":"+secret, "no gzip"), wire.AccessDenied},
		{"decompress", 1, bearer(scoped+":"+secret, "no gzip"), wire.Serialization},
		{"decode", 1, signedAs(t, scoped, "StopTask", `{"cluster":1}`, epoch), wire.Serialization},
		{"scope", 1, signedAs(t, scoped, "StopTask", stop("default"), epoch), wire.AccessDenied},
		{"replay", 1, tag(epoch), httpx.Replayed},
		{"the endpoint", 1, signedAs(t, admin, "StopTask", stop("lab"), epoch), wire.InvalidParameter},
	} {
		b.config.Shared.limits = limited(c.slots, 1).limits
		if got := b.serve(c.request); got.Header().Get("X-Amzn-ErrorType") != c.refusal {
			t.Errorf("%s: %d %s, want %s", c.stage, got.Code, got.Body, c.refusal)
		}
	}
	b.config.Shared.limits = limited(1, 1).limits
	if got := b.serve(tag(epoch.Add(2 * time.Second))); got.Code != 200 {
		t.Errorf("right for every stage: %d %s", got.Code, got.Body)
	}
}
