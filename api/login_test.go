package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/api/openid/openidtest"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/spec"
)

func (s *fakeKeyStore) Login(ctx context.Context, login issuer.Login) (accesskey.Key, error) {
	s.made++
	login.Key.ID, login.Key.CreatedAt = "AKIALOGIN"+string(rune('0'+s.made)), s.now()
	login.Key.Sealed, login.Key.Seal = []byte(backwards(secret)), "mirror"
	answer, err := s.Propose(ctx, raftfsm.Wrap(login))
	if err != nil {
		return accesskey.Key{}, err
	}
	key := *answer.(*accesskey.Key)
	key.Secret = secret
	return key, nil
}

func (s *fakeKeyStore) SealLogin(_ context.Context, id, login string) (string, error) {
	return backwards(id + " " + login), nil
}

func (s *fakeKeyStore) OpenLogin(_ context.Context, id, sealed string) (string, error) {
	if s.lacksKey {
		return "", spec.Unavailable("this server does not have the sealing key yet")
	}
	login, is := strings.CutPrefix(backwards(sealed), id+" ")
	if !is {
		return "", errors.New("what is sealed was changed")
	}
	return login, nil
}

func (s *fakeKeyStore) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return epoch
}

// newLoginFixture is a host whose people log in at an issuer: of them the group lab may submit in the default cluster.
func newLoginFixture(t testing.TB) (*fixture, *openidtest.Issuer) {
	b, idp := newFixture(t), openidtest.New(t)
	keys := &fakeKeyStore{fakeStore: b.fakeStore}
	b.config.Admin.Keys, b.config.Admin.Logins = keys, keys
	b.config.Shared = NewShared()
	for path, body := range map[string]string{
		"admin/oidc": `{"issuer":"` + idp.URL + `","clientId":"` + openidtest.ClientID + `"}`,
	} {
		if got := b.rest(path, body); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	b.mapGroup(t, `{"group":"lab","role":"submit","cluster":"default","maxGpus":8}`)
	return b, idp
}

func (b *fixture) mapGroup(t testing.TB, body string) {
	t.Helper()
	if got := b.rest("admin/oidc/groups", body); got.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", body, got.Code, got.Body)
	}
}

// logIn sends an ID token as somebody without a key does.
func (b *fixture) logIn(token string, groups ...string) reply {
	b.config.Trusted = false
	defer func() { b.config.Trusted = true }()
	body, _ := json.Marshal(map[string]any{"idToken": token, "groups": groups})
	return b.rest("login", string(body))
}

func TestALoginGivesExactlyTheRightsOfItsGroups(t *testing.T) {
	b, idp := newLoginFixture(t)
	b.mapGroup(t, `{"group":"admins","role":"admin"}`)
	token := func(groups ...string) string {
		return idp.IDToken(idp.Claims(epoch, openidtest.Claims{"email": "alice@example.com", "groups": groups}))
	}
	var key struct {
		AccessKeyID, Role, Cluster string
		MaxGPUs                    int
		Login                      struct{ Person, Subject, Issuer string }
	}
	used := token("lab", "others")
	b.logIn(used).decode(t, &key)
	if key.Role != "submit" || key.Cluster != "default" || key.MaxGPUs != 8 || key.Login.Person != "alice@example.com" || key.Login.Subject != "subject-1" || key.Login.Issuer != idp.URL {
		t.Errorf("%+v", key)
	}
	as := func(r *http.Request) reply {
		b.config.Trusted = false
		defer func() { b.config.Trusted = true }()
		return b.as("Bearer "+key.AccessKeyID+":"+secret, r)
	}
	if got := as(httptest.NewRequest("GET", "/v1/admin/oidc", nil)); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
		t.Errorf("a person without an admin's group sees the mapping: %d %s", got.Code, got.Body)
	}
	form := url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}}
	who := httptest.NewRequest("POST", "/", strings.NewReader(form.Encode()))
	who.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if got := as(who); !strings.Contains(got.Body.String(), "<Arn>"+iam.OwnerARN("login/alice@example.com")+"</Arn>") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for what, got := range map[string]reply{
		"a token that was used":            b.logIn(used),
		"groups that are not mapped":       b.logIn(token("others")),
		"no groups":                        b.logIn(token()),
		"a group that is not the person's": b.logIn(token("lab"), "admins"),
		"no token":                         b.logIn(""),
	} {
		if got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	if got := b.rest("admin/oidc/remove", `{}`); got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if got := b.logIn(token("lab")); got.Header().Get("X-Amzn-ErrorType") != httpx.NotFound {
		t.Errorf("without an issuer: %d %s", got.Code, got.Body)
	}
	if got := as(restRequest("ListTasks", `{}`)); got.Code != http.StatusOK {
		t.Errorf("the key of an earlier login: %d %s", got.Code, got.Body)
	}
}

// Whoever is nobody yet learns where people log in, and nothing of what they may do.
func TestEverybodyMayKnowTheIssuerAndNothingElse(t *testing.T) {
	b, idp := newLoginFixture(t)
	b.config.Trusted = false
	var seen map[string]any
	b.get("/v1/login").decode(t, &seen)
	if len(seen) != 2 || seen["issuer"] != idp.URL || seen["clientId"] != openidtest.ClientID {
		t.Errorf("%v", seen)
	}
}

func TestLoginsAndTheirRefusalsAreRecordedWithThePerson(t *testing.T) {
	b, idp := newLoginFixture(t)
	entries := b.audited(t)
	for _, group := range []string{"lab", "others"} {
		b.logIn(idp.IDToken(idp.Claims(epoch, openidtest.Claims{"email": "alice@example.com", "groups": group})))
	}
	b.logIn("nonsense")
	var lines []string
	for _, e := range entries() {
		lines = append(lines, strings.Join([]string{string(e.Outcome), strings.TrimPrefix(e.Principal, iam.OwnerARN("")), e.Operation}, " "))
	}
	want := []string{"done login/alice@example.com POST /v1/login", "refused login/alice@example.com POST /v1/login", "refused  POST /v1/login"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", lines)
	}
}

// A key that has expired is refused, signed or not, before anything reaps it, and a stream that it opened ends.
func TestAnExpiredKeyIsRefusedAndItsStreamsEnd(t *testing.T) {
	b := withEvents(newFixture(t))
	var late atomic.Bool
	b.config.Now = func() time.Time {
		if late.Load() {
			return epoch.Add(time.Hour)
		}
		return epoch
	}
	bearer := b.withKey(t, accesskey.Key{ID: "AKIAEXPIRES", Role: accesskey.RoleRead, Login: &accesskey.Login{Person: "alice@example.com", Expires: epoch.Add(time.Hour)}})
	if got := b.as(bearer, restRequest("ListTasks", `{}`)); got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	stream := openStream(t, b.served(t).URL+"/v1/events", "Authorization", bearer)
	late.Store(true)
	if got := stream.end(); !strings.Contains(got, wire.ExpiredSecurityToken) {
		t.Error(got)
	}
	if got := b.as(bearer, restRequest("ListTasks", `{}`)); got.Header().Get("X-Amzn-ErrorType") != wire.ExpiredSecurityToken {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// An issuer that is down fails those who log in, and nobody else.
func TestAnIssuerThatIsDownConcernsLoginsAlone(t *testing.T) {
	b, idp := newLoginFixture(t)
	token := idp.IDToken(idp.Claims(epoch, openidtest.Claims{"email": "alice@example.com", "groups": "lab"}))
	idp.Close()
	if got := b.logIn(token); got.Header().Get("X-Amzn-ErrorType") != wire.Server {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.rest("ListTasks", `{}`); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
