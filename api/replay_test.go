package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signed is an operation through the AWS door, signed at that moment, as boto3 does it.
func signed(t testing.TB, operation, body string, at time.Time) *http.Request {
	t.Helper()
	r := httptest.NewRequest("POST", "https://pinion.example:7400/", strings.NewReader(body))
	r.Header.Set("Content-Type", typeAWS)
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113."+operation)
	sum := sha256.Sum256([]byte(body))
	r.ContentLength = 0 // boto3 does not sign the length
	key := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, r, hex.EncodeToString(sum[:]), "ecs", "us-east-1", at); err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(body))
	return r
}

// newSignedFixture is a bench whose requests are judged by one guard, and ask for a signature.
func newSignedFixture(t testing.TB) *fixture {
	b := newFixture(t)
	b.config.Trusted, b.config.Limits = false, NewLimits()
	return b
}

const repeated = "Nothing was done: a request with this very signature was carried out before, or is being carried out. To have it done once more, sign it anew, a second later; to repeat a request safely, use a client token."

func TestASignatureChangesSomethingOnce(t *testing.T) {
	b := newSignedFixture(t)
	if got := b.serve(signed(t, "RegisterTaskDefinition", oneGPU, epoch)); got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	b.serve(signed(t, "RegisterTaskDefinition", oneGPU, epoch)).wantError(t, 400, errReplayed, repeated)
	if n := len(b.state.View().Definitions("tensorflow-1-gpu")); n != 1 {
		t.Errorf("there are %d revisions", n)
	}
	if got := b.serve(signed(t, "RegisterTaskDefinition", oneGPU, epoch.Add(time.Second))); got.Code != 200 {
		t.Errorf("signed anew: %d %s", got.Code, got.Body)
	}
}

func TestWhatMayBeSentAgainAsItIs(t *testing.T) {
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

// SDKs repeat a request that failed within the second, which gives it the same signature.
func TestWhatFailedMayBeSentAgainAsItIs(t *testing.T) {
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
	b.config.Admin.Tokens = k
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
	b.serve(r.Clone(t.Context())).wantError(t, 400, errReplayed, repeated)
	if len(k.calls) != 1 {
		t.Errorf("%q", k.calls)
	}
}

func TestAllHandlersOfAProcessShareTheReplayCache(t *testing.T) {
	b := newSignedFixture(t)
	var codes []int
	for range 2 { // serve makes a handler each time
		codes = append(codes, b.serve(signed(t, "CreateCluster", `{"clusterName":"lab"}`, epoch)).Code)
	}
	if !slices.Equal(codes, []int{200, 400}) {
		t.Errorf("%v", codes)
	}
}

func TestSignaturesAreForgottenWhenTheirDateRefusesThemAndWhenThereAreTooMany(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("%064x", n) }
	s := replayCache{maxPerGeneration: 10}
	for n := range 15 {
		if end, ok := s.begin(text(n), epoch); !ok {
			t.Fatalf("signature %d is new", n)
		} else {
			end(true)
		}
	}
	for n := range 15 {
		if _, ok := s.begin(text(n), epoch); ok {
			t.Errorf("signature %d is forgotten while there is room", n)
		}
	}
	for n := 15; n < 35; n++ {
		s.begin(text(n), epoch)
	}
	if len(s.current)+len(s.previous) > 20 {
		t.Errorf("%d are remembered", len(s.current)+len(s.previous))
	}
	if _, ok := s.begin(text(34), epoch.Add(replayTTL-time.Second)); ok {
		t.Error("one is forgotten before its date refuses it")
	}
	s.begin(text(100), epoch.Add(replayTTL))
	s.begin(text(101), epoch.Add(2*replayTTL))
	if len(s.current)+len(s.previous) != 2 {
		t.Errorf("%d are remembered", len(s.current)+len(s.previous))
	}
}

func TestASignatureInUseIsNotUsedTwice(t *testing.T) {
	var s replayCache
	end, _ := s.begin(strings.Repeat("0", 64), epoch)
	if _, ok := s.begin(strings.Repeat("0", 64), epoch); ok {
		t.Error("while the first is under way")
	}
	end(false)
	if _, ok := s.begin(strings.Repeat("0", 64), epoch); !ok {
		t.Error("the first has failed")
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
