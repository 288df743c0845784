package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// signed is an operation by AWS's JSON protocol, signed at that time as boto3 does.
func signed(t testing.TB, operation, body string, at time.Time) *http.Request {
	t.Helper()
	return signedAs(t, keyID, operation, body, at)
}

// signedAs is signed with another key, whose secret is the same.
func signedAs(t testing.TB, keyID, operation, body string, at time.Time) *http.Request {
	t.Helper()
	return signedTo(t, keyID, "ecs", "/", body, at, http.Header{"Content-Type": {httpx.AWSJSON}, "X-Amz-Target": {"AmazonEC2ContainerServiceV20141113." + operation}})
}

// signedTo is a request to a path that is signed for a service.
func signedTo(t testing.TB, keyID, service, path, body string, at time.Time, header http.Header) *http.Request {
	t.Helper()
	r := httptest.NewRequest("POST", "https://pinion.example:7400"+path, strings.NewReader(body))
	r.Header = header
	sum := sha256.Sum256([]byte(body))
	r.ContentLength = 0 // boto3 does not sign the length
	key := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, r, hex.EncodeToString(sum[:]), service, "us-east-1", at); err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(body))
	return r
}

// newSignedFixture is a bench whose requests are judged by one guard, and ask for a signature.
func newSignedFixture(t testing.TB) *fixture {
	b := newFixture(t)
	b.config.Trusted, b.config.Shared = false, NewShared()
	return b
}

const repeated = "Nothing was done: a request with this very signature was carried out before, or is being carried out. To have it done once more, sign it anew, a second later; to repeat a request safely, use a client token."

// boto3 signs equal calls within one second with the same signature: all of them get the answer of the first.
func TestEqualCallsWithinASecondAreOneChange(t *testing.T) {
	b := newSignedFixture(t)
	var first string
	for i := range 25 {
		got := b.serve(signed(t, "RegisterTaskDefinition", oneGPU, epoch))
		if first == "" {
			first = got.Body.String()
		}
		if got.Code != 200 || got.Body.String() != first || (got.Header().Get("X-Pinion-Repeated") == "true") != (i > 0) {
			t.Fatalf("call %d: %d %s %v", i, got.Code, got.Body, got.Header())
		}
	}
	if n := len(b.state.View().Definitions("tensorflow-1-gpu")); n != 1 {
		t.Errorf("there are %d revisions", n)
	}
	if got := b.serve(signed(t, "RegisterTaskDefinition", oneGPU, epoch.Add(time.Second))); got.Code != 200 || got.Body.String() == first {
		t.Errorf("signed anew: %d %s", got.Code, got.Body)
	}
	b.serve(signed(t, "RegisterTaskDefinition", oneGPU, epoch)).wantError(t, 400, httpx.Replayed, repeated)
}

// What was changed since must not be answered as if it were still there: the refusal has SDKs sign anew.
func TestAnAnswerStandsUntilItsKeyChangesSomethingElse(t *testing.T) {
	b := newSignedFixture(t)
	create, remove := `{"clusterName":"lab"}`, `{"cluster":"lab"}`
	for _, c := range []struct{ operation, body string }{{"CreateCluster", create}, {"DeleteCluster", remove}} {
		if got := b.serve(signed(t, c.operation, c.body, epoch)); got.Code != 200 {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	b.serve(signed(t, "CreateCluster", create, epoch)).wantError(t, 400, httpx.Replayed, repeated)
	b.serve(signed(t, "CreateCluster", create, epoch.Add(time.Second)))
	if lab := b.state.View().Cluster("lab"); lab == nil || lab.Status != spec.ClusterActive {
		t.Errorf("%+v", lab)
	}
}

// Who starts a task twice wants two of them.
func TestACallThatStartsTasksIsNotAnsweredTwice(t *testing.T) {
	b := newSignedFixture(t)
	b.mustApply(t, registerCommand(t))
	for operation, body := range map[string]string{"RunTask": `{"taskDefinition":"f"}`, "StartTask": `{"taskDefinition":"f","containerInstances":["` + hostID + `"]}`} {
		if got := b.serve(signed(t, operation, body, epoch)); got.Code != 200 {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		b.serve(signed(t, operation, body, epoch)).wantError(t, 400, httpx.Replayed, repeated)
	}
	if n := len(b.state.View().Tasks("default")); n != 2 {
		t.Errorf("there are %d tasks", n)
	}
}

func TestARoleThatWasTakenAwayGetsNoAnswerAgain(t *testing.T) {
	b := newSignedFixture(t)
	b.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "AKIAOTHER", Secret: secret, Role: accesskey.RoleAdmin, CreatedAt: epoch}}))
	request := func() *http.Request { return signedAs(t, "AKIAOTHER", "CreateCluster", `{"clusterName":"lab"}`, epoch) }
	if got := b.serve(request()); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	b.mustApply(t, raftfsm.Wrap(credential.Delete{ID: "AKIAOTHER"}))
	if got := b.serve(request()); got.Code == 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A new leader has none of the answers, but the log has the signatures.
func TestANewLeaderRefusesWhatAnEarlierOneHasCarriedOut(t *testing.T) {
	b := newSignedFixture(t)
	used := map[spec.Signature]bool{}
	b.fakeStore.proposed = func(ctx context.Context) {
		for _, signature := range spec.SignaturesOf(ctx) {
			used[signature] = true
		}
	}
	b.config.SignatureUsed = func(signature spec.Signature, signedAt time.Time) bool {
		if !signedAt.Equal(epoch.Truncate(time.Second)) {
			t.Errorf("signed at %s", signedAt)
		}
		return used[signature]
	}
	b.mustApply(t, registerCommand(t))
	for operation, body := range map[string]string{"CreateCluster": `{"clusterName":"lab"}`, "RunTask": `{"taskDefinition":"f"}`} {
		clear(used)
		if got := b.serve(signed(t, operation, body, epoch)); got.Code != 200 || len(used) != 1 {
			t.Fatalf("%d %s, and the log has %d signatures", got.Code, got.Body, len(used))
		}
		b.config.Shared = NewShared()
		b.serve(signed(t, operation, body, epoch)).wantError(t, 400, httpx.Replayed, repeated)
	}
}

func TestReadsAndClientTokensMayBeRepeated(t *testing.T) {
	b := newSignedFixture(t)
	b.mustApply(t, registerCommand(t))
	for range 2 {
		if got := b.serve(signed(t, "ListTasks", "{}", epoch)); got.Code != 200 {
			t.Errorf("a read: %d %s", got.Code, got.Body)
		}
		if got := b.serve(signed(t, "RunTask", `{"taskDefinition":"f","clientToken":"t"}`, epoch)); got.Code != 200 || !strings.Contains(got.Body.String(), firstTask) {
			t.Errorf("with a client token: %d %s", got.Code, got.Body)
		}
	}
	if n := len(b.state.View().Tasks("default")); n != 1 {
		t.Errorf("there are %d tasks", n)
	}
}

// A client token is no way around that: what it has made may be gone, or was nothing. With a signature of its own it is repeated as on ECS.
func TestACopiedRequestWithAClientTokenChangesNothing(t *testing.T) {
	b := newSignedFixture(t)
	b.mustApply(t, registerCommand(t))
	create := `{"serviceName":"web","taskDefinition":"f","desiredCount":1,"clientToken":"t"}`
	first := b.serve(signed(t, "CreateService", create, epoch))
	if first.Code != 200 {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	if got := b.serve(signed(t, "CreateService", create, epoch)); got.Body.String() != first.Body.String() {
		t.Errorf("before anything else is changed: %d %s", got.Code, got.Body)
	}
	if got := b.serve(signed(t, "CreateService", create, epoch.Add(time.Second))); got.Code != 200 {
		t.Errorf("signed anew: %d %s", got.Code, got.Body)
	}
	if got := b.serve(signed(t, "DeleteService", `{"service":"web","force":true}`, epoch)); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	b.serve(signed(t, "CreateService", create, epoch)).wantError(t, 400, httpx.Replayed, repeated)

	nowhere := `{"taskDefinition":"f","clientToken":"t","placementConstraints":[{"type":"memberOf","expression":"attribute:rack == 7"}]}`
	if got := b.serve(signed(t, "RunTask", nowhere, epoch)); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	b.serve(signed(t, "CreateCluster", `{"clusterName":"lab"}`, epoch))
	b.serve(signed(t, "RunTask", nowhere, epoch)).wantError(t, 400, httpx.Replayed, repeated)
	for range 2 {
		if got := b.serve(signed(t, "RunTask", `{"taskDefinition":"f","clientToken":"u"}`, epoch.Add(time.Second))); got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}

// SDKs repeat a request that failed within the second, which gives it the same signature.
func TestAFailedRequestMayBeRepeated(t *testing.T) {
	b := newSignedFixture(t)
	b.fakeStore.viewErr = errElection
	b.serve(signed(t, "CreateCluster", `{"clusterName":"lab"}`, epoch)).wantError(t, 500, "ServerException", errElection.Error())
	b.fakeStore.viewErr = nil
	b.serve(signed(t, "RunTask", `{"taskDefinition":"f"}`, epoch)).wantError(t, 400, "ClientException", "TaskDefinition not found.")
	b.mustApply(t, registerCommand(t))
	for _, r := range []*http.Request{signed(t, "CreateCluster", `{"clusterName":"lab"}`, epoch), signed(t, "RunTask", `{"taskDefinition":"f"}`, epoch)} {
		if got := b.serve(r); got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}

func TestOperatorsSignaturesAreUsedOnceToo(t *testing.T) {
	b := newSignedFixture(t)
	k := &fakeAdmin{fakeStore: b.fakeStore}
	b.config.Admin.JoinTokens = k
	r := signed(t, "", "", epoch)
	r.Header.Del("X-Amz-Target")
	r.URL.Path = "/v1/admin/tokens"
	empty := sha256.Sum256(nil)
	key := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(t.Context(), key, r, hex.EncodeToString(empty[:]), "ecs", "us-east-1", epoch); err != nil {
		t.Fatal(err)
	}
	if got := b.serve(r.Clone(t.Context())); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	b.serve(r.Clone(t.Context())).wantError(t, 400, httpx.Replayed, repeated)
	if len(k.calls) != 1 {
		t.Errorf("%q", k.calls)
	}
}

func TestAllHandlersOfAProcessShareTheReplayCache(t *testing.T) {
	b := newSignedFixture(t)
	var codes []int
	for range 2 { // serve makes a handler each time
		got := b.serve(signed(t, "CreateCluster", `{"clusterName":"lab"}`, epoch))
		codes = append(codes, got.Code)
		if again := len(codes) == 2; (got.Header().Get("X-Pinion-Repeated") != "") != again {
			t.Errorf("%v", got.Header())
		}
	}
	if !slices.Equal(codes, []int{200, 200}) {
		t.Errorf("%v", codes)
	}
}

// What proxies may change a host must not: some clients sign it.
func TestHeadersThatAreSignedReachTheLeaderAsTheyCame(t *testing.T) {
	p := newTwoHosts(t)
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.follower.URL+"/v1/ListTasks", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	special := map[string]string{"user-agent": "aws-sdk-java/1.12", "x-amzn-trace-id": "Root=1", "expect": "100-continue"}
	for name, value := range special {
		r.Header[name] = []string{value} // in lower case, or the signer leaves them out
	}
	sum := sha256.Sum256([]byte("{}"))
	key := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(t.Context(), key, r, hex.EncodeToString(sum[:]), "ecs", "us-east-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, value := range special {
		delete(r.Header, name)
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != 200 {
		t.Errorf("%s %s", response.Status, text)
	}
}
