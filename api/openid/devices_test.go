package openid_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/api/openid"
	"pinion/api/openid/openidtest"
	"pinion/api/wire"
)

const browser = "192.0.2.7:4711"

// says answers with an error of OAuth 2.0.
func says(code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q,"error_description":"because"}`, code)
	}
}

// idTokenEndpoint has the issuer answer questions for a token in this order, and then with one of alice; asked counts them.
func idTokenEndpoint(idp *openidtest.Issuer, answers ...http.HandlerFunc) (asked func() int) {
	var mu sync.Mutex
	n := 0
	idp.Answer("/token", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n <= len(answers) {
			answers[n-1](w, r)
			return
		}
		if r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:device_code" || r.FormValue("device_code") != "device-1" || r.FormValue("client_id") != openidtest.ClientID {
			says("invalid_grant")(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"unused","token_type":"Bearer","id_token":%q}`, idp.IDToken(idp.Claims(now, alice)))
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func begin(t *testing.T, d *openid.Devices, idp *openidtest.Issuer) (id string) {
	t.Helper()
	id, device, err := d.Start(t.Context(), pool(idp), browser, now)
	if err != nil || device.Prompt.Code != "ABCD-EFGH" || device.Interval != time.Second {
		t.Fatalf("%+v, %v", device, err)
	}
	return id
}

// However often a browser asks, the host asks the issuer at the issuer's pace. The ID token is given once.
func TestAHostAsksAtThePaceOfTheIssuer(t *testing.T) {
	idp := openidtest.New(t)
	asked := idTokenEndpoint(idp, says("authorization_pending"), says("slow_down"))
	var d openid.Devices
	id := begin(t, &d, idp)
	for _, step := range []struct{ after, wait, asked int }{ // in milliseconds
		{0, 1000, 0}, {999, 1, 0}, {1000, 1000, 1}, {1500, 500, 1}, {2000, 6000, 2}, {7000, 1000, 2},
	} {
		token, wait, err := d.IDToken(t.Context(), pool(idp), id, now.Add(time.Duration(step.after)*time.Millisecond))
		if token != "" || err != nil || wait != time.Duration(step.wait)*time.Millisecond || asked() != step.asked {
			t.Errorf("after %d ms: %q, %v, %v; asked %d times", step.after, token, wait, err, asked())
		}
	}
	token, _, err := d.IDToken(t.Context(), pool(idp), id, now.Add(8*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(openid.Verifier).Verify(t.Context(), pool(idp), token, now); err != nil {
		t.Error(err)
	}
	if token, _, err := d.IDToken(t.Context(), pool(idp), id, now.Add(20*time.Second)); typeOf(err) != httpx.NotFound || asked() != 3 {
		t.Errorf("once more: %q, %v", token, err)
	}
}

// What the issuer refuses is over. An issuer that does not answer is asked again.
func TestALoginIsOverWhenTheIssuerSaysSo(t *testing.T) {
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	breaks := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	noToken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"unused","token_type":"Bearer"}`)
	}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		over   bool
	}{
		"declined":          {says("access_denied"), wire.AccessDenied, true},
		"expired":           {says("expired_token"), wire.AccessDenied, true},
		"unknown":           {says("invalid_grant"), wire.AccessDenied, true},
		"no ID token":       {noToken, wire.AccessDenied, true},
		"down":              {down, wire.Server, false},
		"breaks off":        {breaks, wire.Server, false},
		"leads elsewhere":   {redirect("https://idp.example.com"), wire.Server, false},
		"more than is read": {endless, wire.Server, false},
	} {
		idp := openidtest.New(t)
		idTokenEndpoint(idp, c.answer)
		var d openid.Devices
		id := begin(t, &d, idp)
		if token, _, err := d.IDToken(t.Context(), pool(idp), id, now.Add(time.Second)); typeOf(err) != c.want || len(err.Error()) > 1000 {
			t.Errorf("%s: %q, %v", what, token, err)
		}
		token, _, err := d.IDToken(t.Context(), pool(idp), id, now.Add(3*time.Second))
		if c.over && typeOf(err) != httpx.NotFound || !c.over && token == "" {
			t.Errorf("%s, asked again: %q, %v", what, token, err)
		}
	}
}

// Nobody makes a host ask the issuer about a login that it has not begun, or that was begun at another issuer or is over.
func TestAnUnknownLoginIsNotAskedFor(t *testing.T) {
	idp := openidtest.New(t)
	asked := idTokenEndpoint(idp)
	var d, other openid.Devices
	known, elsewhere := begin(t, &d, idp), begin(t, &other, idp)
	another := *pool(idp)
	another.ClientID = "another"
	for _, id := range []string{"", "device-1", elsewhere, known + "A"} {
		if _, _, err := d.IDToken(t.Context(), pool(idp), id, now.Add(time.Second)); typeOf(err) != httpx.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, _, err := d.IDToken(t.Context(), &another, known, now.Add(time.Second)); typeOf(err) != httpx.NotFound {
		t.Errorf("since then the pool is another client of the issuer: %v", err)
	}
	if _, _, err := d.IDToken(t.Context(), pool(idp), known, now.Add(2*time.Minute)); typeOf(err) != httpx.NotFound {
		t.Errorf("its code has expired: %v", err)
	}
	if asked() > 0 {
		t.Errorf("the issuer was asked %d times", asked())
	}
}

// The next leader goes on with a login that the one before has begun: at the issuer's pace from then on, until its code expires, and at its own issuer.
func TestTheNextLeaderGoesOnWithALogin(t *testing.T) {
	idp := openidtest.New(t)
	asked := idTokenEndpoint(idp, says("authorization_pending"))
	var first, next openid.Devices
	id, device, err := first.Start(t.Context(), pool(idp), browser, now)
	if err != nil {
		t.Fatal(err)
	}
	saved := device.Save()
	another := *pool(idp)
	another.ClientID = "another"
	for what, err := range map[string]error{
		"another client of the issuer": next.Resume(&another, id, saved, browser, now),
		"another issuer":               next.Resume(pool(openidtest.New(t)), id, saved, browser, now),
		"its code has expired":         next.Resume(pool(idp), id, saved, browser, now.Add(2*time.Minute)),
		"cut short":                    next.Resume(pool(idp), id, saved[1:], browser, now),
	} {
		if typeOf(err) != httpx.NotFound || next.Known(id) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range 2 { // the second time it is known
		if err := next.Resume(pool(idp), id, saved, browser, now.Add(10*time.Second)); err != nil || !next.Known(id) {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ after, wait, asked int }{{10, 1, 0}, {11, 1, 1}} { // in seconds
		token, wait, err := next.IDToken(t.Context(), pool(idp), id, now.Add(time.Duration(step.after)*time.Second))
		if token != "" || err != nil || wait != time.Duration(step.wait)*time.Second || asked() != step.asked {
			t.Errorf("after %d s: %q, %v, %v; asked %d times", step.after, token, wait, err, asked())
		}
	}
	if token, _, err := next.IDToken(t.Context(), pool(idp), id, now.Add(12*time.Second)); token == "" || err != nil {
		t.Error(err)
	}
}

// Logins that others have begun take the same places as those that begin here.
func TestAnybodyHasABoundedNumberOfLoginsGoneOnWith(t *testing.T) {
	idp := openidtest.New(t)
	var first, next openid.Devices
	for n := range 17 {
		id, device, err := first.Start(t.Context(), pool(idp), fmt.Sprintf("192.0.2.%d:1", n), now)
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Resume(pool(idp), id, device.Save(), browser, now); (typeOf(err) == httpx.Throttled) != (n == 16) {
			t.Errorf("the %dth: %v", n+1, err)
		}
	}
}

// Anybody may begin a login, so that one address begins few of them, and all together not many: also where the issuer refuses them. Those that nobody
// asks for any more make room.
func TestAnybodyBeginsABoundedNumberOfLogins(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{"they wait": nil, "they are refused": says("invalid_client")} {
		idp := openidtest.New(t)
		answersDevice(idp, map[string]any{"expires_in": 1800})
		if answer != nil {
			idp.Answer("/device", answer)
		}
		var d openid.Devices
		begun := func(address string, at time.Time) bool {
			_, _, err := d.Start(t.Context(), pool(idp), address, at)
			return typeOf(err) != httpx.Throttled
		}
		for n := range 256 {
			address := fmt.Sprintf("192.0.2.%d:%d", n/16, n)
			if !begun(address, now) {
				t.Fatalf("%s: the %dth is refused", what, n+1)
			}
			if n == 15 && begun(address, now) {
				t.Errorf("%s: one address begins more than 16", what)
			}
		}
		if begun("192.0.2.99:1", now) {
			t.Errorf("%s: all addresses together begin more than 256", what)
		}
		over := 3 * time.Minute
		if answer != nil {
			over = time.Minute
		}
		if begun("192.0.2.99:1", now.Add(over-time.Second)) || !begun("192.0.2.99:1", now.Add(over)) {
			t.Errorf("%s: they make room at another time than %v", what, over)
		}
	}
}

// An issuer that hangs holds a bounded number of requests and nothing else.
func TestAnIssuerThatHangsHoldsABoundedNumberOfDevices(t *testing.T) {
	idp := openidtest.New(t)
	release := make(chan struct{})
	idp.Answer("/device", func(http.ResponseWriter, *http.Request) {
		<-release
		panic(http.ErrAbortHandler)
	})
	var d openid.Devices
	outcomes := make(chan string, 40)
	var logins sync.WaitGroup
	for n := range 40 {
		logins.Go(func() {
			_, _, err := d.Start(t.Context(), pool(idp), fmt.Sprintf("192.0.2.%d:1", n), now)
			outcomes <- typeOf(err)
		})
	}
	for range 40 - 16 {
		if got := <-outcomes; got != httpx.Throttled {
			t.Errorf("a login beyond the bound: %s", got)
		}
	}
	close(release)
	logins.Wait()
	for range 16 {
		if got := <-outcomes; got != wire.Server {
			t.Errorf("a login that has waited: %s", got)
		}
	}
}
