package openid_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/api/openid"
	"pinion/api/openid/openidtest"
	"pinion/api/wire"
	"pinion/raftfsm/issuer"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func pool(i *openidtest.Issuer) *issuer.Issuer {
	of := issuer.Issuer{URL: i.URL, ClientID: openidtest.ClientID}.Or()
	return &of
}

// alice is a person of the issuer.
var alice = openidtest.Claims{"email": "alice@example.com", "groups": []string{"lab", "everybody"}}

func with(changed openidtest.Claims) openidtest.Claims {
	all := openidtest.Claims{}
	for _, claims := range []openidtest.Claims{alice, changed} {
		for name, value := range claims {
			all[name] = value
		}
	}
	return all
}

func typeOf(err error) string {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Type
	}
	return fmt.Sprint(err)
}

func TestOnlyATokenThatTheIssuerMadeForThisPoolJustNowProvesAnything(t *testing.T) {
	idp, other := openidtest.New(t), openidtest.New(t)
	var v openid.Verifier
	good := idp.IDToken(idp.Claims(now, alice))
	person, err := v.Verify(t.Context(), pool(idp), good, now)
	if err != nil || person.Name != "alice@example.com" || person.Subject != "subject-1" || strings.Join(person.Groups, " ") != "lab everybody" || person.Hash == "" {
		t.Fatalf("%+v %v", person, err)
	}
	parts := strings.Split(good, ".")
	claims := func(changed openidtest.Claims) string { return idp.IDToken(idp.Claims(now, with(changed))) }
	escalated, _ := base64.RawURLEncoding.DecodeString(parts[1])
	for what, token := range map[string]string{
		"no token":                        "",
		"too long":                        strings.Repeat("a", 8<<10) + "." + strings.Repeat("a", 8<<10) + ".a",
		"for another audience":            claims(openidtest.Claims{"aud": "another"}),
		"for another party too":           claims(openidtest.Claims{"aud": []string{openidtest.ClientID, "another"}}),
		"made for another party":          claims(openidtest.Claims{"azp": "another"}),
		"of another issuer, by its key":   other.IDToken(other.Claims(now, alice)),
		"of another issuer, by this key":  claims(openidtest.Claims{"iss": other.URL}),
		"of this issuer, by another key":  other.IDToken(idp.Claims(now, alice)),
		"without an algorithm":            idp.Signed("none", "key-1", idp.Claims(now, alice)),
		"HS256 with the public key":       idp.Signed("HS256", "key-1", idp.Claims(now, alice)),
		"of an unknown key":               idp.Signed("ES256", "key-2", idp.Claims(now, alice)),
		"with a group more":               parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(escalated), "lab", "admins", 1))) + "." + parts[2],
		"expired":                         claims(openidtest.Claims{"exp": now.Add(-openid.Skew).Unix()}),
		"without an end":                  claims(openidtest.Claims{"exp": nil}),
		"without a time":                  claims(openidtest.Claims{"iat": nil}),
		"made in the future":              claims(openidtest.Claims{"iat": now.Add(openid.Skew + time.Second).Unix(), "exp": now.Add(time.Hour).Unix()}),
		"made long ago":                   claims(openidtest.Claims{"iat": now.Add(-openid.MaxAge - openid.Skew - time.Second).Unix()}),
		"not valid yet":                   claims(openidtest.Claims{"nbf": now.Add(openid.Skew + time.Second).Unix()}),
		"not valid before all time":       claims(openidtest.Claims{"nbf": 1e300}),
		"with an unverified e-mail":       claims(openidtest.Claims{"email_verified": false}),
		"with a name for a log":           claims(openidtest.Claims{"email": "a\n{\"outcome\":\"done\"}"}),
		"with a name that is a path":      claims(openidtest.Claims{"email": "../root"}),
		"without a name":                  claims(openidtest.Claims{"email": nil}),
		"with a name that is no text":     claims(openidtest.Claims{"email": 7}),
		"without a subject":               claims(openidtest.Claims{"sub": nil}),
		"with groups that are no list":    claims(openidtest.Claims{"groups": map[string]bool{"admins": true}}),
		"with more groups than are taken": claims(openidtest.Claims{"groups": strings.Split(strings.Repeat("g,", 1001), ",")}),
		"with another issuer's name":      claims(openidtest.Claims{"iss": other.URL, "i\u017fs": idp.URL}),
		"with another time's name":        claims(openidtest.Claims{"Exp": now.Add(time.Hour).Unix()}),
		"with white space in it":          parts[0] + ". " + parts[1] + "." + parts[2],
		"in the JSON form":                `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`,
	} {
		if person, err := v.Verify(t.Context(), pool(idp), token, now); typeOf(err) != wire.AccessDenied {
			t.Errorf("%s: %+v, %v", what, person, err)
		}
	}
}

// A token can be written in several ways, but its claims are used once.
func TestATokenWrittenAnewIsTheSameToken(t *testing.T) {
	idp := openidtest.New(t)
	var v openid.Verifier
	claims := idp.Claims(now, alice)
	hashes := map[string]bool{}
	token := idp.IDToken(claims)
	for _, written := range []string{token, idp.IDToken(claims), lastBit(token)} {
		if person, err := v.Verify(t.Context(), pool(idp), written, now); err == nil {
			hashes[person.Hash] = true
		}
	}
	if len(hashes) != 1 {
		t.Errorf("%d tokens", len(hashes))
	}
}

// lastBit changes bits of the last character of the claims that mean nothing.
func lastBit(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	parts := strings.Split(token, ".")
	last := len(parts[1]) - 1
	parts[1] = parts[1][:last] + string(alphabet[strings.IndexByte(alphabet, parts[1][last])|1])
	return strings.Join(parts, ".")
}

func TestUnknownKeysMakeNobodyAskTheIssuerAgainAndAgain(t *testing.T) {
	idp := openidtest.New(t)
	var v openid.Verifier
	for n := range 50 {
		_, _ = v.Verify(t.Context(), pool(idp), idp.Signed("ES256", fmt.Sprint("key-", n+2), idp.Claims(now, alice)), now)
	}
	if _, err := v.Verify(t.Context(), pool(idp), idp.IDToken(idp.Claims(now, alice)), now); err != nil || idp.Asked() > 2 {
		t.Errorf("it was asked %d times, %v", idp.Asked(), err)
	}
}

// What was stolen of an issuer proves nothing for longer than an hour, though the issuer cannot be asked what has become of its keys.
func TestKeysOfAnIssuerThatIsDownEnd(t *testing.T) {
	idp := openidtest.New(t)
	var v openid.Verifier
	verify := func(at time.Time) error {
		_, err := v.Verify(t.Context(), pool(idp), idp.IDToken(idp.Claims(at, alice)), at)
		return err
	}
	if err := verify(now); err != nil {
		t.Fatal(err)
	}
	idp.Close()
	if err := verify(now.Add(59 * time.Minute)); err != nil {
		t.Errorf("within the hour: %v", err)
	}
	if err := verify(now.Add(time.Hour)); typeOf(err) != wire.Server {
		t.Errorf("after an hour: %v", err)
	}
}

// What an issuer answers leads nowhere else, and has a bound.
func TestAnIssuerThatMisbehavesIsRefused(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request has gone elsewhere") }))
	t.Cleanup(inside.Close)
	const discovery = "/.well-known/openid-configuration"
	for what, c := range map[string]struct {
		path   string
		answer http.HandlerFunc
	}{
		"discovery redirects": {discovery, redirect(inside.URL)},
		"keys redirect":       {"/keys", redirect(inside.URL)},
		"discovery is huge":   {discovery, endless},
		"keys are huge":       {"/keys", endless},
		"discovery is of another issuer": {discovery, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, inside.URL, inside.URL)
		}},
		"discovery fails": {discovery, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		"keys break off":  {"/keys", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"keys are none":   {"/keys", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) }},
	} {
		idp := openidtest.New(t)
		idp.Answer(c.path, c.answer)
		var v openid.Verifier
		if person, err := v.Verify(t.Context(), pool(idp), idp.IDToken(idp.Claims(now, alice)), now); err == nil {
			t.Errorf("%s: %+v", what, person)
		}
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

// endless answers more than anybody should read, as JSON that is not over.
func endless(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"x":"`)
	for range 40 {
		if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
			return
		}
	}
	fmt.Fprint(w, `"}`)
}

// An issuer that hangs holds a bounded number of logins and nothing else; those beyond are told at once.
func TestAnIssuerThatHangsHoldsABoundedNumberOfLogins(t *testing.T) {
	idp := openidtest.New(t)
	release, hanging := make(chan struct{}), make(chan struct{}, 100)
	idp.Answer("/keys", func(http.ResponseWriter, *http.Request) {
		hanging <- struct{}{}
		<-release
		panic(http.ErrAbortHandler)
	})
	var v openid.Verifier
	token := idp.IDToken(idp.Claims(now, alice))
	outcomes := make(chan string, 100)
	var logins sync.WaitGroup
	for range 40 {
		logins.Go(func() {
			_, err := v.Verify(t.Context(), pool(idp), token, now)
			outcomes <- typeOf(err)
		})
	}
	<-hanging
	for range 40 - 16 {
		if got := <-outcomes; got != "ThrottlingException" {
			t.Errorf("a login beyond the bound: %s", got)
		}
	}
	close(release)
	logins.Wait()
	for range 16 {
		if got := <-outcomes; got != wire.AccessDenied {
			t.Errorf("a login that has waited: %s", got)
		}
	}
}
