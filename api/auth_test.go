package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// registerCommand stores the plainest task definition there is.
func registerCommand(t testing.TB) raftfsm.Command {
	t.Helper()
	essential := true
	return raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, RegisteredAt: epoch,
		Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64, Essential: &essential}}}}
}

// withAuthorization sends a request to a listener that demands credentials.
func withAuthorization(t *testing.T, header string) reply {
	b := newFixture(t)
	b.config.Trusted = false
	r := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return b.serve(r)
}

func TestBearerKeys(t *testing.T) {
	if got := withAuthorization(t, "Bearer "+keyID+":"+secret); got.Code != http.StatusOK {
		t.Errorf("the right key: %d %s", got.Code, got.Body)
	}
	const message = "The access key is not valid. Send \"Authorization: Bearer KEYID:SECRET\"; `pinion env` on a host prints a key."
	for _, header := range []string{"Bearer " + keyID + ":wrong", "Bearer nobody:" + secret, "Bearer " + keyID, "Bearer " + keyID + ":", "Bearer :"} {
		withAuthorization(t, header).wantError(t, 400, "UnrecognizedClientException", message)
	}
	withAuthorization(t, "").wantError(t, 400, "MissingAuthenticationTokenException", "The request carries no signature: sign it with an access key (AWS Signature Version 4), or send \"Authorization: Bearer KEYID:SECRET\". `pinion env` on a host prints a key.")
}

// Nothing is shown to those who cannot sign, but that the host lives.
func TestEveryEndpointNeedsAKey(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	open := map[string]bool{"GET /healthz": true, "GET /v1/version": true, "GET /v1/openapi.json": true, "GET /v1/login": true, "POST /v1/login": true,
		"GET /v1/login/device": true, "POST /v1/login/device": true, "POST /v1/login/device/token": true}
	for line, role := range requiredRoles() {
		method, path, _ := strings.Cut(line, " ")
		got := b.serve(httptest.NewRequest(method, path, strings.NewReader("{}")))
		if (role == "") != open[line] || open[line] == (got.Header().Get("X-Amzn-ErrorType") == "MissingAuthenticationTokenException") {
			t.Errorf("%s: %d %s", line, got.Code, got.Body)
		}
	}
	for _, operation := range []string{"ListClusters", "CreateService", "MakeCoffee"} {
		if got := b.aws(operation, "{}"); got.Header().Get("X-Amzn-ErrorType") != "MissingAuthenticationTokenException" {
			t.Errorf("%s: %d %s", operation, got.Code, got.Body)
		}
	}
	for _, path := range []string{"/healthz", "/v1/version"} {
		if got := b.get(path); got.Code != http.StatusOK || got.Body.String() != `{"status":"ok"}` {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// Even on the trusted socket a signature that is there must be right, and its region counts.
func TestASignatureOnTheSocketIsChecked(t *testing.T) {
	b := newFixture(t)
	r := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer "+keyID+":wrong")
	if got := b.serve(r); got.Code != 400 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
