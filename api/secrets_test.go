package api

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/api/secrets/secretstest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
)

// newSecretsFixture is a fixture on the leader that keeps secrets. What it signs is read by the clock of the machine.
func newSecretsFixture(t testing.TB) *fixture {
	b := newFixture(t)
	b.config.Trusted, b.config.Now, b.config.Leader, b.config.Shared = false, time.Now, fakeLeadership(selfLeads), NewShared()
	b.config.Admin.Secrets = secretstest.New(t)
	return b
}

// onEveryHostWithSecrets shows that clients cannot tell whether the host that they talk to leads.
func onEveryHostWithSecrets(t *testing.T, test func(t *testing.T, server *httptest.Server)) {
	t.Run("on the leader", func(t *testing.T) {
		server := httptest.NewServer(NewHandler(newSecretsFixture(t).config))
		t.Cleanup(server.Close)
		test(t, server)
	})
	t.Run("on another host", func(t *testing.T) {
		fromPeer := newSecretsFixture(t).config
		fromPeer.FromPeer = sentBy(followerID, true)
		peer := tlsServer(t, NewHandler(fromPeer))
		other := newFixture(t)
		other.viewErr = errors.New("a follower read its state")
		c := other.config
		c.HostID, c.Trusted, c.Now, c.Leader, c.Forward = followerID, false, time.Now, remoteLeads(peer.Listener.Addr().String()), peer.Client().Transport
		server := httptest.NewServer(NewHandler(c))
		t.Cleanup(server.Close)
		test(t, server)
	})
}

// ofService is an operation of a service by AWS's JSON protocol, with a bearer key.
func ofService(bearer, target, body string) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {httpx.AWSJSON}, "X-Amz-Target": {target}, "Authorization": {bearer}}
	return r
}

// Who has read and changed which secret is in the audit log. No log has a value.
func TestUsesOfSecretsAreAudited(t *testing.T) {
	b := newSecretsFixture(t)
	entries := b.audited(t)
	var log bytes.Buffer
	b.config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	submit := b.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit})
	read := b.withKey(t, accesskey.Key{ID: "AKIAREAD", Role: accesskey.RoleRead})
	lab := b.withKey(t, accesskey.Key{ID: "AKIALAB", Role: accesskey.RoleSubmit, Cluster: "lab"})
	for _, c := range []struct{ bearer, target, body, want string }{
		{submit, "secretsmanager.CreateSecret", `{"Name":"db","SecretString":"hunter2"}`, "done AKIASUBMIT secretsmanager:CreateSecret db"},
		{submit, "AmazonSSM.PutParameter", `{"Name":"/app/x","Value":"hunter2","Type":"SecureString"}`, "done AKIASUBMIT ssm:PutParameter /app/x"},
		{submit, "secretsmanager.GetSecretValue", `{"SecretId":"db"}`, "done AKIASUBMIT secretsmanager:GetSecretValue db"},
		{submit, "AmazonSSM.GetParameters", `{"Names":["/app/x","/app/none"],"WithDecryption":true}`, "done AKIASUBMIT ssm:GetParameters /app/x"},
		{submit, "secretsmanager.GetSecretValue", `{"SecretId":"none"}`, "failed AKIASUBMIT secretsmanager:GetSecretValue"},
		{lab, "secretsmanager.GetSecretValue", `{"SecretId":"db"}`, "refused AKIALAB secretsmanager:GetSecretValue db"},
		{read, "secretsmanager.GetSecretValue", `{"SecretId":"db"}`, "refused AKIAREAD secretsmanager:GetSecretValue"},
		{read, "secretsmanager.DescribeSecret", `{"SecretId":"db"}`, ""},
		{read, "AmazonSSM.DescribeParameters", `{}`, ""},
		{submit, "secretsmanager.PutSecretValue", `{"SecretId":"db","SecretString":"hunter2","SecretBinary":"aHVudGVyMg=="}`, "failed AKIASUBMIT secretsmanager:PutSecretValue"},
		{submit, "secretsmanager.DeleteSecret", `{"SecretId":"db"}`, "done AKIASUBMIT secretsmanager:DeleteSecret db"},
	} {
		before := len(entries())
		b.serve(ofService(c.bearer, c.target, c.body))
		line := ""
		for _, e := range entries()[before:] {
			line = strings.Join([]string{string(e.Outcome), strings.TrimPrefix(e.Principal, iam.OwnerARN("")), e.Operation}, " ")
			if strings.Contains(e.Message, "hunter2") || strings.Contains(e.Operation, "hunter2") {
				t.Errorf("%s: the audit log has the value: %+v", c.target, e)
			}
		}
		if line != c.want {
			t.Errorf("%s %s: %q, want %q", c.target, c.body, line, c.want)
		}
	}
	for _, value := range []string{"hunter2", "aHVudGVyMg=="} {
		if text := log.String(); strings.Contains(text, value) || !strings.Contains(text, "secretsmanager:CreateSecret db") {
			t.Errorf("the access log has %s, or no names:\n%s", value, text)
		}
	}
}

// A change whose request comes again is answered from memory, and a value never is.
func TestValuesAreNotKeptForRequestsThatComeAgain(t *testing.T) {
	b := newSecretsFixture(t)
	at := time.Now()
	call := func(service, operation, body string) reply {
		target := map[string]string{"ssm": "AmazonSSM.", "secretsmanager": "secretsmanager."}[service] + operation
		got := b.serve(signedTo(t, keyID, service, "/", body, at, http.Header{"Content-Type": {httpx.AWSJSON}, "X-Amz-Target": {target}}))
		if got.Code != 200 {
			t.Fatalf("%s: %d %s", operation, got.Code, got.Body)
		}
		return got
	}
	for service, c := range map[string]struct{ put, putBody, again, get, getBody string }{
		"ssm":            {"PutParameter", `{"Name":"x","Value":"one","Type":"String"}`, `{"Name":"x","Value":"two","Overwrite":true}`, "GetParameter", `{"Name":"x"}`},
		"secretsmanager": {"CreateSecret", `{"Name":"x","SecretString":"one"}`, ``, "GetSecretValue", `{"SecretId":"x"}`},
	} {
		first := call(service, c.put, c.putBody)
		if again := call(service, c.put, c.putBody); again.Header().Get("X-Pinion-Repeated") == "" || again.Body.String() != first.Body.String() || strings.Contains(again.Body.String(), "one") {
			t.Errorf("%s: %v %s", c.put, again.Header(), again.Body)
		}
		call(service, c.get, c.getBody)
		if again := call(service, c.put, c.putBody); again.Header().Get("X-Pinion-Repeated") == "" || strings.Contains(again.Body.String(), "one") {
			t.Errorf("%s after a read: %s", c.put, again.Body)
		}
		if c.again != "" {
			call(service, c.put, c.again)
		} else {
			call(service, "PutSecretValue", `{"SecretId":"x","SecretString":"two"}`)
		}
		if got := call(service, c.get, c.getBody); got.Header().Get("X-Pinion-Repeated") != "" || !strings.Contains(got.Body.String(), `"two"`) {
			t.Errorf("%s by the previous signature: %v %s", c.get, got.Header(), got.Body)
		}
	}
}

// By /v1/ the operations answer too, and unknown members are errors. Where ECS has the name, it is ECS's.
func TestOperationsOfSecretsByTheirPaths(t *testing.T) {
	b := newSecretsFixture(t)
	b.config.Trusted = true
	for _, c := range []struct {
		operation, body string
		status          int
		has             string
	}{
		{"CreateSecret", `{"Name":"db","SecretString":"v"}`, 200, `"Name":"db"`},
		{"GetSecretValue", `{"SecretId":"db"}`, 200, `"SecretString":"v"`},
		{"GetSecretValue", `{"secretId":"db"}`, 400, `"InvalidParameterException","message":"unknown field secretId: did you mean \"SecretId\"?"`},
		{"PutParameter", `{"Name":"p","Value":"v","Type":"String"}`, 200, `"Version":1`},
		{"PutParameter", `{"Name":"p","Value":"v","type":"String"}`, 400, `ValidationException`},
		{"GetParameter", `{"Name":"p"}`, 200, `"Value":"v"`},
		{"RotateSecret", `{}`, 400, `write a new version`},
		{"TagResource", `{"SecretId":"db"}`, 400, `unknown field SecretId`},
		{"ListTagsForResource", `{"ResourceType":"Parameter"}`, 400, `unknown field ResourceType`},
	} {
		if got := b.rest(c.operation, c.body); got.Code != c.status || !strings.Contains(got.Body.String(), c.has) {
			t.Errorf("%s %s: %d %s", c.operation, c.body, got.Code, got.Body)
		}
	}
}

// Sessions of ExecuteCommand are signed for the service of Parameter Store, and go elsewhere.
func TestSystemsManagerIsTwoServices(t *testing.T) {
	b := newSecretsFixture(t)
	for target, want := range map[string]string{
		"AmazonSSM.TerminateSession":       "ssm:TerminateSession",
		"AmazonSSM.ResumeSession":          "ssm:ResumeSession",
		"AmazonSSM.DescribeParameters":     "",
		"AmazonSSM.SendCommand":            wire.UnknownOperation,
		"secretsmanager.MakeCoffee":        wire.UnknownOperation,
		"secretsmanager.GetRandomPassword": "",
	} {
		got := b.serve(ofService(bearerKey, target, `{}`))
		switch {
		case want == "" && got.Code != 200, want == wire.UnknownOperation && !strings.Contains(got.Body.String(), want), strings.HasPrefix(want, "ssm:") && !strings.Contains(got.Body.String(), "ession"):
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
	b.config.Admin.Secrets = nil
	got := b.serve(ofService(bearerKey, "secretsmanager.CreateSecret", `{"Name":"x","SecretString":"v"}`))
	got.wantError(t, 500, wire.Server, "this host has no sealing keys, so it can keep no secrets")
}
