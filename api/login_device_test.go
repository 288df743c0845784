package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/audit"
	"pinion/api/httpx"
	"pinion/api/openid/openidtest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
)

// browserLogin is a login that a browser has begun at a host, whose clock it can move on.
type browserLogin struct {
	b     *fixture
	later time.Duration
	ID    string
	URL   string
	Code  string
}

// newBrowserLogin is a pool with an issuer, to callers without a key.
func newBrowserLogin(t *testing.T) (*browserLogin, *openidtest.Issuer) {
	b, idp := newLoginFixture(t)
	l, began := &browserLogin{b: b}, time.Now() // as the issuer has it
	b.config.Now = func() time.Time { return began.Add(l.later) }
	b.config.Admin.Keys.(*fakeKeyStore).clock = b.config.Now
	b.config.Trusted = false
	return l, idp
}

func (l *browserLogin) begin(t *testing.T) {
	t.Helper()
	l.b.rest("login/device", `{}`).decode(t, l)
}

// asks asks for the ID token until the issuer has been asked once more.
func (l *browserLogin) asks() reply {
	l.later += time.Second
	return l.asksWith(l.ID)
}

func (l *browserLogin) asksWith(id string) reply {
	body, _ := json.Marshal(map[string]string{"id": id})
	return l.b.rest("login/device/token", string(body))
}

// nextLeads has a host lead that has heard of no login.
func (l *browserLogin) nextLeads() { l.b.config.Shared = NewShared() }

// idToken is the ID token, which the issuer gives at the second question.
func (l *browserLogin) idToken(t *testing.T) string {
	t.Helper()
	l.begin(t)
	if got := l.asks(); got.Code != http.StatusOK || got.Body.String() != `{"interval":1}` {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	var answer struct{ IDToken string }
	l.asks().decode(t, &answer)
	if answer.IDToken == "" {
		t.Fatal("there is no ID token")
	}
	return answer.IDToken
}

// A person logs in with a browser, which asks the issuer nothing itself, works with the key, and ends it.
func TestAPersonLogsInWithABrowserAndOut(t *testing.T) {
	l, idp := newBrowserLogin(t)
	entries := l.b.audited(t)
	if got := l.b.get("/v1/login/device").Body.String(); got != `{"issuer":"`+idp.URL+`"}` {
		t.Error(got)
	}
	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": "lab"})
	var key struct{ AccessKeyID, SecretAccessKey string }
	l.b.logIn(l.idToken(t)).decode(t, &key)
	l.b.config.Trusted = false
	if l.URL != idp.URL+"/enter" || l.Code != "ABCD-EFGH" || len(l.ID) < 26 {
		t.Errorf("%+v", l)
	}
	bearer := "Bearer " + key.AccessKeyID + ":" + key.SecretAccessKey
	if got := l.b.as(bearer, restRequest("ListTasks", `{}`)); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := l.b.as(bearer, restRequest("logout", `{}`)); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := l.b.as(bearer, restRequest("ListTasks", `{}`)); got.Code == http.StatusOK {
		t.Errorf("after the logout: %d %s", got.Code, got.Body)
	}
	var lines []string
	for _, e := range entries() {
		lines = append(lines, strings.Join([]string{string(e.Outcome), strings.TrimPrefix(e.Principal, iam.OwnerARN("")), e.Operation}, " "))
	}
	want := []string{"done login/alice@example.com POST /v1/login", "done login/alice@example.com POST /v1/logout", "refused  POST /v1/ListTasks"}
	if len(lines) != 3 || !slices.Equal(lines[:2], want[:2]) || !strings.HasPrefix(lines[2], "refused") {
		t.Errorf("%q", lines)
	}
}

// A person who has begun to log in ends it at the next leader, which has heard of it by what the browser keeps alone.
func TestALoginGoesOnAtTheNextLeader(t *testing.T) {
	l, idp := newBrowserLogin(t)
	l.begin(t)
	l.asks()
	l.nextLeads()
	keys := l.b.config.Admin.Logins.(*fakeKeyStore)
	keys.lacksKey = true
	if got := l.asks(); got.Header().Get("X-Amzn-ErrorType") != wire.Server {
		t.Errorf("a leader that lacks the sealing key: %d %s", got.Code, got.Body)
	}
	keys.lacksKey = false
	id, sealed, _ := strings.Cut(l.ID, ".")
	for what, other := range map[string]string{"without what is sealed": id, "of another login": "OTHER." + sealed, "changed": l.ID + "x"} {
		if got := l.asksWith(other); got.Header().Get("X-Amzn-ErrorType") != httpx.NotFound {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": "lab"})
	for range 2 {
		if got := l.asks(); got.Code != http.StatusOK || got.Body.String() != `{"interval":1}` {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	var answer struct{ IDToken string }
	l.asks().decode(t, &answer)
	if got := l.b.logIn(answer.IDToken); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// Who logs out ends the key of a login alone: others are an administrator's.
func TestOnlyTheKeyOfALoginLogsOut(t *testing.T) {
	b, _ := newLoginFixture(t)
	bearer := b.withKey(t, accesskey.Key{ID: "AKIACI", Role: accesskey.RoleAdmin})
	if got := b.as(bearer, restRequest("logout", `{}`)); got.Header().Get("X-Amzn-ErrorType") != wire.InvalidParameter {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := b.as(bearer, restRequest("ListTasks", `{}`)); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// Where groups give what no one key can have, the refusal has the groups, and the person chooses one with the same ID token.
func TestAPersonChoosesAmongGroups(t *testing.T) {
	l, idp := newBrowserLogin(t)
	l.b.config.Trusted = true
	l.b.mapGroup(t, `{"group":"everybody","role":"read"}`)
	l.b.config.Trusted = false
	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": []string{"lab", "everybody", "unmapped"}})
	token := l.idToken(t)
	refusal := l.b.logIn(token)
	var refused struct {
		Type   string `json:"__type"`
		Groups []string
	}
	if refusal.decode(t, &refused); refused.Type != wire.AccessDenied || !slices.Equal(refused.Groups, []string{"everybody", "lab"}) {
		t.Errorf("%d %+v", refusal.Code, refused)
	}
	var key struct{ Role string }
	if l.b.logIn(token, "everybody").decode(t, &key); key.Role != "read" {
		t.Errorf("%+v", key)
	}
	if got := l.b.logIn(token, "lab"); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
		t.Errorf("with the same token for another group: %d %s", got.Code, got.Body)
	}
}

// Strangers who begin logins leave nothing in the audit log but their refusals.
func TestOnlyRefusedLoginsOfBrowsersAreRecorded(t *testing.T) {
	l, _ := newBrowserLogin(t)
	entries := l.b.audited(t)
	l.begin(t)
	l.asks()
	if all := entries(); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	for range 16 {
		l.b.rest("login/device", `{}`)
	}
	if all := entries(); len(all) != 1 || all[0].Outcome != audit.Refused || all[0].Error != httpx.Throttled || all[0].Operation != "POST /v1/login/device" {
		t.Errorf("%+v", all)
	}
}

func TestABrowserLogsInWhereThereIsAnIssuerThatAnswers(t *testing.T) {
	l, idp := newBrowserLogin(t)
	l.begin(t)
	for what, c := range map[string]struct{ path, body, want string }{
		"a login of nobody": {"login/device/token", `{"id":"nobody's"}`, httpx.NotFound},
		"no login":          {"login/device/token", `{}`, httpx.NotFound},
		"the issuer's code": {"login/device/token", `{"id":"device-1"}`, httpx.NotFound},
	} {
		if got := l.b.rest(c.path, c.body); got.Header().Get("X-Amzn-ErrorType") != c.want {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	idp.Close()
	if got := l.asks(); got.Header().Get("X-Amzn-ErrorType") != wire.Server {
		t.Errorf("an issuer that is down: %d %s", got.Code, got.Body)
	}
	if got := l.b.rest("login/device", `{}`); got.Header().Get("X-Amzn-ErrorType") != wire.Server {
		t.Errorf("a login at one: %d %s", got.Code, got.Body)
	}
	l.b.config.Trusted = true
	l.b.rest("admin/oidc/remove", `{}`)
	l.b.config.Trusted = false
	if got := l.b.get("/v1/login/device"); got.Code != http.StatusOK || got.Body.String() != `{}` {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, path := range []string{"login/device", "login/device/token"} {
		if got := l.b.rest(path, `{}`); got.Header().Get("X-Amzn-ErrorType") != httpx.NotFound {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// A host that does not lead has the leader carry out the login, which counts for the address of the browser.
func TestABrowserLogsInByAnyHost(t *testing.T) {
	p := newTwoHosts(t)
	idp := openidtest.New(t)
	p.leader.config.Trusted = true
	if got := p.leader.rest("admin/oidc", `{"issuer":"`+idp.URL+`","clientId":"`+openidtest.ClientID+`"}`); got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	p.other.config.Trusted, p.other.config.Leader, p.other.config.Forward = false, remoteLeads(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	for n := range 17 {
		r := httptest.NewRequest("POST", "/v1/login/device", strings.NewReader(`{}`))
		r.RemoteAddr = "192.0.2.7:4711"
		got := p.other.serve(r)
		if n < 16 && got.Code != http.StatusOK || n == 16 && got.Header().Get("X-Amzn-ErrorType") != httpx.Throttled {
			t.Fatalf("%d: %d %s", n, got.Code, got.Body)
		}
	}
}
