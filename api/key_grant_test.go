package api

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
)

// withKey makes a key like this one, and requests that it signs are all that the fixture serves.
func (b *fixture) withKey(t testing.TB, like accesskey.Key) (bearer string) {
	t.Helper()
	b.config.Trusted = false
	like.Secret, like.CreatedAt = secret, epoch
	b.mustApply(t, raftfsm.Wrap(credential.Create{Key: like}))
	return "Bearer " + like.ID + ":" + secret
}

func (b *fixture) as(bearer string, r *http.Request) reply {
	r.Header.Set("Authorization", bearer)
	return b.serve(r)
}

func TestAKeyIsMadeWithLimitsAndShowsWhatItHasOfThem(t *testing.T) {
	b := newSealedFixture(t)
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	const limits = `"teams":["vision"],"maxPriority":0,"maxTasks":5,"maxWaiting":4,"maxGpus":3,"maxRevisions":2,"requestsPerSecond":1`
	made := b.rest("admin/keys", `{"role":"submit","cluster":"lab,default",`+limits+`}`).Body.String()
	if want := `{"accessKeyId":"AKIAMADE","secretAccessKey":"` + secret + `","role":"submit","cluster":"default,lab",` + limits + `}`; made != want {
		t.Errorf("got  %s\nwant %s", made, want)
	}
	b.mustApply(t, registerCommand(t))
	task := &spec.Task{ID: "t", Cluster: "lab", Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running, Owner: &spec.TaskOwner{Key: "AKIAMADE", GPUs: 2}}
	b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "lab", Tasks: []*spec.Task{task}}}})
	want := `"cluster":"default,lab","createdAt":"2026-01-02T03:04:05.678Z",` + limits + `,"inUse":{"tasks":1,"waiting":1,"gpus":2,"revisions":0}}`
	if listed := b.get("/v1/admin/keys").Body.String(); !strings.Contains(listed, want) {
		t.Errorf("got  %s\nwant %s", listed, want)
	}
	for body, message := range map[string]string{
		`{"role":"read","cluster":"lab,nope"}`: `There is no cluster "nope" for a key to be for.`,
		`{"role":"read","teams":[""]}`:         "teams must not have an empty name.",
		`{"role":"read","maxPriority":101}`:    "maxPriority must be between 0 and 100, not 101.",
		`{"role":"read","maxGpus":-1}`:         "maxGpus must be a number of GPUs from 0, not -1.",
		`{"role":"read","maxTasks":-1}`:        "maxTasks, maxWaiting, maxRevisions and requestsPerSecond must be 1 or more; without one there is no such limit.",
	} {
		if got := b.rest("admin/keys", body); got.Code < 400 || !strings.Contains(got.Body.String(), strings.ReplaceAll(message, `"`, `\"`)) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

func TestALimitIsRefusedByItsName(t *testing.T) {
	b := ready(t)
	one := 1
	bearer := b.withKey(t, accesskey.Key{ID: "AKIAFEW", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{MaxGPUs: &one, MaxRevisions: 1}})
	run := func() reply { return b.as(bearer, restRequest("RunTask", `{"taskDefinition":"tensorflow-1-gpu"}`)) }
	if got := run(); got.Code != 200 || strings.Contains(got.Body.String(), "RESOURCE") {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	run().wantError(t, 400, httpx.LimitExceeded, "access key AKIAFEW may have 1 GPUs and has 1: 1 more are too many. Wait until some have ended, or have an administrator make a key with more (`pinion keys create --max-gpus`).")
	const definition = `{"family":"mine","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`
	if got := b.as(bearer, restRequest("RegisterTaskDefinition", definition)); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.as(bearer, restRequest("RegisterTaskDefinition", definition)); got.Header().Get("X-Amzn-ErrorType") != httpx.LimitExceeded {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestRequestsPerSecondAreLimited(t *testing.T) {
	b := newFixture(t)
	now := epoch
	b.config.Now = func() time.Time { return now }
	b.config.Shared = NewShared()
	bearer := b.withKey(t, accesskey.Key{ID: "AKIASLOW", Role: accesskey.RoleRead, Grant: accesskey.Grant{RequestsPerSecond: 2}})
	other := b.withKey(t, accesskey.Key{ID: "AKIAFAST", Role: accesskey.RoleRead})
	served := func(bearer string, tries int) (n int) {
		for range tries {
			if b.as(bearer, restRequest("ListTasks", "{}")).Code == 200 {
				n++
			}
		}
		return n
	}
	if n := served(bearer, 10); n != 4 {
		t.Errorf("%d of 10 at once were served, 2 a second for 2 seconds are 4", n)
	}
	b.as(bearer, restRequest("ListTasks", "{}")).wantError(t, 400, httpx.LimitExceeded,
		"Access key AKIASLOW may send 2 requests a second and has sent more. Send fewer, or have an administrator make a key with more (`pinion keys create --max-requests`).")
	if n := served(other, 10); n != 10 {
		t.Errorf("another key is held up: %d of 10", n)
	}
	now = now.Add(time.Second)
	if n := served(bearer, 10); n != 2 {
		t.Errorf("%d were served after a second", n)
	}
	now = now.Add(-time.Hour)
	if n := served(bearer, 10); n != 0 {
		t.Errorf("%d were served because the clock went back", n)
	}
}

func TestThePoolsLimitsAreShownAndChanged(t *testing.T) {
	b := ready(t)
	const shown = `{"tasks":{"limit":1000000,"used":0},"waiting":{"limit":500000,"used":0},"revisions":{"limit":100000,"used":1},"revisionsOfFamily":{"limit":10000}}`
	if got := b.get("/v1/admin/limits").Body.String(); got != shown {
		t.Errorf("got  %s\nwant %s", got, shown)
	}
	if got := b.rest("admin/limits", `{"waiting":7}`).Body.String(); got != strings.Replace(shown, "500000", "7", 1) {
		t.Errorf("%s", got)
	}
	b.rest("admin/limits", `{"tasks":0}`).wantError(t, 400, invalid, "tasks must be 1 or more, not 0.")
	b.rest("admin/limits", `{}`).wantError(t, 400, invalid, "Give one of tasks, waiting, revisions and revisionsOfFamily.")
}

// Nothing else happens in the pool, so nothing but the look at the key can end the streams.
func TestStreamsOfARemovedKeyEnd(t *testing.T) {
	following := make(chan struct{})
	b := newLogFixture(t, func(ctx context.Context, _ spec.LogQuery, emit func(spec.LogLine) error) error {
		err := emit(line("one"))
		close(following)
		<-ctx.Done()
		return err
	})
	withEvents(b)
	bearer := b.withKey(t, accesskey.Key{ID: "AKIAGONE", Role: accesskey.RoleRead})
	server := b.served(t)
	events := openStream(t, server.URL+"/v1/events", "Authorization", bearer)
	r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+logPath+"?follow=1", nil)
	r.Header.Set("Authorization", bearer)
	log, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Body.Close()
	<-following
	b.mustApply(t, raftfsm.Wrap(credential.Delete{ID: "AKIAGONE"}))
	if got := events.end(); !strings.Contains(got, "The access key AKIAGONE was removed.") {
		t.Errorf("the events end with %s", got)
	}
	if _, err := io.ReadAll(bufio.NewReader(log.Body)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the log ends with %v, as if it were complete", err)
	}
}

func TestAWSToolsAreToldWhoTheyAre(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	const body = "Action=GetCallerIdentity&Version=2011-06-15"
	ask := func(service string) reply {
		return b.serve(signedTo(t, keyID, service, "/", body, epoch, http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}))
	}
	got := ask("sts")
	var response struct {
		XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
		ARN     string   `xml:"GetCallerIdentityResult>Arn"`
		UserID  string   `xml:"GetCallerIdentityResult>UserId"`
		Account string   `xml:"GetCallerIdentityResult>Account"`
	}
	if err := xml.Unmarshal(got.Body.Bytes(), &response); err != nil || got.Code != 200 {
		t.Fatalf("%d %s: %v", got.Code, got.Body, err)
	}
	if response.ARN != iam.OwnerARN(keyID) || response.UserID != keyID || response.Account != spec.AccountID {
		t.Errorf("%+v", response)
	}
	if got := ask("ecs"); got.Code != 400 || !strings.Contains(got.Body.String(), "<Code>InvalidSignatureException</Code>") {
		t.Errorf("signed for another service: %d %s", got.Code, got.Body)
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader(url.Values{"Action": {"GetCallerIdentity"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if got := b.serve(r); got.Code != 400 || strings.Contains(got.Body.String(), spec.AccountID) {
		t.Errorf("without a key: %d %s", got.Code, got.Body)
	}
}

// The service of a signature follows from the path: a target that is none of its business does not change it.
func TestATargetDoesNotChangeTheServiceOfARoute(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	got := b.serve(signedTo(t, keyID, "logs", "/v1/ListTasks", "{}", epoch, http.Header{"X-Amz-Target": {"Logs_20140328.DescribeLogGroups"}}))
	if got.Header().Get("X-Amzn-ErrorType") != "InvalidSignatureException" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestAStaleThatIsNeitherTrueNorFalseIsRefused(t *testing.T) {
	newFixture(t).get("/v1/hosts?stale=maybe").wantError(t, 400, invalid, `stale must be true or false, not "maybe".`)
}

func TestTheVersionIsToldToThoseWithAKey(t *testing.T) {
	b := newFixture(t)
	bearer := b.withKey(t, accesskey.Key{ID: "AKIAREAD", Role: accesskey.RoleRead})
	if got := b.as(bearer, httptest.NewRequest("GET", "/v1/version", nil)).Body.String(); !strings.Contains(got, hostID) {
		t.Errorf("with a key: %s", got)
	}
	if got := b.as("Bearer AKIAREAD:wrong", httptest.NewRequest("GET", "/v1/version", nil)).Body.String(); got != `{"status":"ok"}` {
		t.Errorf("with a wrong one: %s", got)
	}
	if got := b.get("/v1/openapi.json").Body.String(); strings.Contains(got, `"`+b.config.Version+`"`) {
		t.Error("the description of the API tells it without one")
	}
}

func TestACallerIsToldWhatItsKeyMayDo(t *testing.T) {
	b := newFixture(t)
	bearer := b.withKey(t, accesskey.Key{ID: "AKIAREAD", Name: "ci", Role: accesskey.RoleRead, Cluster: "lab", Grant: accesskey.Grant{Teams: []string{"vision"}}})
	var got struct {
		KeyID   string `json:"accessKeyId"`
		Name    string
		Role    accesskey.Role
		Cluster string
		Teams   []string
	}
	b.as(bearer, httptest.NewRequest("GET", "/v1/whoami", nil)).decode(t, &got)
	if got.KeyID != "AKIAREAD" || got.Name != "ci" || got.Role != accesskey.RoleRead || got.Cluster != "lab" || !slices.Equal(got.Teams, []string{"vision"}) {
		t.Errorf("%+v", got)
	}
}

// The name of a key is shown in tables and logs, so it is one word.
func TestTheNameOfAKeyIsAWord(t *testing.T) {
	b, _ := newAdminFixture(t)
	for _, name := range []string{"two words", "line\nbreak", strings.Repeat("n", 129)} {
		got := b.serveAs(t, accesskey.RoleAdmin, "", restRequest("admin/keys", `{"role":"read","name":`+strconv.Quote(name)+`}`))
		if got.Code != 400 || !strings.Contains(got.Body.String(), "name must have at most 128 letters") {
			t.Errorf("%q: %d %s", name, got.Code, got.Body)
		}
	}
}

func TestAKeyForTwoClustersMayNameBoth(t *testing.T) {
	b, _ := newAdminFixture(t)
	for _, cluster := range []string{"lab", "vision", "other"} {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: cluster, Status: spec.ClusterActive}})
	}
	for request, allowed := range map[string]bool{
		`ListTasks {"cluster":"lab"}`: true, `ListTasks {"cluster":"vision"}`: true, `ListTasks {"cluster":"other"}`: false, `ListTasks {"cluster":"lab,vision"}`: false,
		`ListTasks {}`: false, `DescribeClusters {"clusters":["lab","vision"]}`: true, `DescribeClusters {"clusters":["lab","other"]}`: false,
	} {
		operation, body, _ := strings.Cut(request, " ")
		got := b.serveAs(t, accesskey.RoleRead, "lab,vision", restRequest(operation, body))
		if allowed != (got.Code == 200) {
			t.Errorf("%s: %d %s", request, got.Code, got.Body)
		}
	}
	for path, want := range map[string]string{"/v1/hosts?cluster=vision": "[]", "/v1/hosts?cluster=other": wire.AccessDenied, "/v1/hosts": "name one with ?cluster=NAME"} {
		if got := b.serveAs(t, accesskey.RoleRead, "lab,vision", httptest.NewRequest("GET", path, nil)); !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}
