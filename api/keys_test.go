package api

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/spec"
)

// fakeKeyStore stands in for the server's keys: it seals by writing backwards.
type fakeKeyStore struct {
	*fakeStore
	made     int
	clock    func() time.Time // of logins; nil: it stands at epoch
	lacksKey bool             // it opens no login
}

func backwards(text string) string {
	out := []byte(text)
	for i := range out {
		out[i] = text[len(text)-1-i]
	}
	return string(out)
}

func (s *fakeKeyStore) CreateKey(ctx context.Context, like accesskey.Key) (accesskey.Key, error) {
	s.made++
	key := accesskey.Key{ID: "AKIAMADE", Role: like.Role, Cluster: like.Cluster, Grant: like.Grant, Sealed: []byte(backwards(secret)), Seal: "mirror", CreatedAt: epoch}
	if _, err := s.Propose(ctx, raftfsm.Wrap(credential.Create{Key: key})); err != nil {
		return accesskey.Key{}, err
	}
	key.Secret = secret
	return key, nil
}

func (s *fakeKeyStore) RemoveKey(ctx context.Context, id string) error {
	_, err := s.Propose(ctx, raftfsm.Wrap(credential.Delete{ID: id}))
	return err
}

func (s *fakeKeyStore) RotateSealingKey(ctx context.Context) error {
	_, err := s.Propose(ctx, raftfsm.Wrap(sealing.Rotate{Key: sealing.Key{Name: "glass", Since: epoch, Retired: []string{"mirror"}}}))
	return err
}

func (s *fakeKeyStore) KeySecret(key *accesskey.Key) (string, error) {
	if key.Seal == "lost" {
		return "", spec.ErrUnavailable
	}
	if key.Sealed == nil {
		return key.Secret, nil
	}
	return backwards(string(key.Sealed)), nil
}

// newSealedFixture is a bench that makes keys.
func newSealedFixture(t testing.TB) *fixture {
	b := newFixture(t)
	b.config.Admin.Keys = &fakeKeyStore{fakeStore: b.fakeStore}
	return b
}

func TestAKeyIsMadeUsedListedAndRemoved(t *testing.T) {
	b := newSealedFixture(t)
	var made struct {
		AccessKeyID, SecretAccessKey, Cluster string
		Role                                  accesskey.Role
	}
	b.rest("admin/keys", `{"role":"read","cluster":"default"}`).decode(t, &made)
	if made.AccessKeyID != "AKIAMADE" || made.SecretAccessKey != secret || made.Role != accesskey.RoleRead || made.Cluster != "default" {
		t.Errorf("%+v", made)
	}
	use := func() reply {
		b.config.Trusted = false
		defer func() { b.config.Trusted = true }()
		r := restRequest("ListTasks", "{}")
		r.Header.Set("Authorization", "Bearer AKIAMADE:"+secret)
		return b.serve(r)
	}
	if got := use(); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	listed := b.get("/v1/admin/keys").Body.String()
	const want = `[{"id":"AKIAABCDEFGHIJKLMNOP","role":"admin","createdAt":"2026-01-02T03:04:05.678Z"},{"id":"AKIAMADE","role":"read","cluster":"default","createdAt":"2026-01-02T03:04:05.678Z"}]`
	if listed != want {
		t.Errorf("got  %s\nwant %s", listed, want)
	}
	if got := b.rest("admin/keys/remove", `{"id":"AKIAMADE"}`); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := use(); got.Header().Get("X-Amzn-ErrorType") != "UnrecognizedClientException" {
		t.Errorf("after it was removed: %d %s", got.Code, got.Body)
	}
	b.rest("admin/keys/remove", `{"id":"AKIAMADE"}`).wantError(t, 404, httpx.NotFound, `There is no access key "AKIAMADE".`)
}

func TestWhatIsNoKeyToMake(t *testing.T) {
	b := newSealedFixture(t)
	b.rest("admin/keys", `{"role":"root"}`).wantError(t, 400, invalid, `role must be one of read, submit and admin, not "root".`)
	b.rest("admin/keys", `{}`).wantError(t, 400, invalid, `role must be one of read, submit and admin, not "".`)
	b.rest("admin/keys", `{"role":"read","cluster":"nope"}`).wantError(t, 404, httpx.NotFound, `There is no cluster "nope" for a key to be for.`)
	if n := b.config.Admin.Keys.(*fakeKeyStore).made; n > 0 {
		t.Errorf("%d were made", n)
	}
}

func TestTheSealingKeyIsReplacedAndProgressIsTold(t *testing.T) {
	b := newSealedFixture(t)
	b.rest("admin/keys", `{"role":"read"}`)
	for _, want := range []string{`{"left":0}`, `{"key":"glass","since":"2026-01-02T03:04:05.678Z","left":1}`} {
		if got := b.get("/v1/admin/sealing").Body.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := b.rest("admin/sealing/rotate", `{}`); got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}

// An empty secret would be everybody's.
func TestAKeyWhoseSecretCannotBeReadOpensNothing(t *testing.T) {
	for name, seal := range map[string]string{"lost for now": "lost", "without anything": ""} {
		b := newSealedFixture(t)
		if seal == "" {
			b.config.Admin.Keys = nil
		}
		b.config.Trusted = false
		b.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "AKIALOST", Role: accesskey.RoleAdmin, Sealed: []byte("x"), Seal: "lost"}}))
		for _, header := range []string{"Bearer AKIALOST:", "Bearer AKIALOST:x", strings.Replace(signed(t, "ListTasks", "{}", epoch).Header.Get("Authorization"), keyID, "AKIALOST", 1)} {
			r := signed(t, "ListTasks", "{}", epoch)
			r.Header.Set("Authorization", header)
			if got := b.serve(r); got.Code != 500 {
				t.Errorf("%s, %q: %d %s", name, header, got.Code, got.Body)
			}
		}
	}
}

func TestTheDescriptionHasEveryLineOfTheTables(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	var described struct {
		OpenAPI    string `json:"openapi"`
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	got := b.serve(httptest.NewRequest("GET", "/v1/openapi.json", nil))
	got.decode(t, &described)
	for line := range requiredRoles() {
		method, path, _ := strings.Cut(line, " ")
		if described.Paths[path][strings.ToLower(method)] == nil {
			t.Errorf("%s is not described", line)
		}
	}
	if described.OpenAPI != "3.1.0" || len(described.Components.Schemas) < 100 {
		t.Errorf("%s", described.OpenAPI)
	}
	for _, part := range strings.Split(got.Body.String(), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if described.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	if strings.Contains(got.Body.String(), ":null") {
		t.Error("there is a null in it")
	}
}
