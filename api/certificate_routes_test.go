package api

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/spec"
)

// An administrator of the pool sees what hosts share to get certificates by ACME, without a key, and drops it. Nobody else does.
func TestAnAdministratorDropsCertificatesByACME(t *testing.T) {
	b := newImagesFixture(t)
	b.config.Trusted = false
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	b.mustApply(t, raftfsm.Wrap(acme.Put{Items: []acme.Item{
		{Key: acme.AccountKey, Sealed: []byte("secret"), PutAt: at}, {Key: "a.example.org", Sealed: []byte("secret"), PutAt: at}, {Key: "a.example.org" + acme.AnswerSuffix, Sealed: []byte("secret"), PutAt: at},
	}}))
	list := func(bearer string) (int, string) {
		got := b.as(bearer, httptest.NewRequest("GET", "/v1/admin/certificates", nil))
		return got.Code, got.Body.String()
	}
	remove := func(bearer, name string) int {
		return b.as(bearer, httptest.NewRequest("POST", "/v1/admin/certificates/remove", strings.NewReader(`{"name":"`+name+`"}`))).Code
	}
	for name, key := range map[string]accesskey.Key{
		"a key that may submit":               {ID: "AKIASUBMIT", Role: accesskey.RoleSubmit},
		"an administrator of another cluster": {ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"},
	} {
		bearer := b.withKey(t, key)
		if code, _ := list(bearer); code < 400 || remove(bearer, "a.example.org") < 400 {
			t.Errorf("%s lists or drops certificates", name)
		}
	}
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	code, body := list(admin)
	for _, want := range []string{`"account"`, `"certificate"`, `"challenge"`, `"a.example.org"`} {
		if code != 200 || !strings.Contains(body, want) || strings.Contains(strings.ToLower(body), "sealed") {
			t.Errorf("%d %s", code, body)
		}
	}
	if code := remove(admin, "b.example.org"); code != 404 {
		t.Errorf("one that is not there: %d", code)
	}
	for _, name := range []string{"a.example.org", "account"} {
		if code := remove(admin, name); code != 200 {
			t.Errorf("%s: %d", name, code)
		}
	}
	if _, body := list(admin); strings.TrimSpace(body) != "[]" {
		t.Errorf("it is still there: %s", body)
	}
}
