package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"pinion/api/openid/openidtest"
)

// listens has the page note what hosts answer to those who log in.
const listens = `(() => { window.answers = []; const real = window.fetch; window.fetch = async (...of) => { const answer = await real(...of); if (String(of[0]).startsWith('/v1/login')) window.answers.push(await answer.clone().json()); return answer } })()`

// noted is what the page has noted under a name, in any answer.
func (p *page) noted(name string) (value string) {
	p.Helper()
	p.do(chromedp.Evaluate("answers.map(a => a["+quoted(name)+"]).find(v => v) || ''", &value))
	if value == "" {
		p.Errorf("no answer has %s", name)
	}
	return value
}

// atIssuer begins to sign in at the issuer.
func (p *page) atIssuer() {
	p.Helper()
	p.do(chromedp.WaitEnabled(".signin section button.primary"), chromedp.Evaluate(listens, nil), chromedp.Click(".signin section button.primary"))
}

// signOut signs out.
func (p *page) signOut() {
	p.Helper()
	p.do(chromedp.Evaluate("[...document.querySelectorAll('header button')].pop().click()", nil), chromedp.WaitVisible("input[name=key]"))
}

// withIssuer is a host whose people log in at an issuer: of them everybody may read.
func withIssuer(t *testing.T) (*host, *openidtest.Issuer) {
	t.Helper()
	h, idp := up(t, "--gpus", "sim:4xh100"), openidtest.New(t)
	h.pinion(t, "oidc", "set", "--issuer", idp.URL, "--client-id", openidtest.ClientID)
	h.pinion(t, "oidc", "map", "--role", "read", "everybody")
	return h, idp
}

// A person signs in at the issuer of the pool without an access key, sees what their group may, stays signed in, and ends the key by signing out.
func TestAPersonSignsInOnTheWebPage(t *testing.T) {
	h, idp := withIssuer(t)
	p := open(t, h)
	p.sees("Sign in at " + strings.TrimPrefix(idp.URL, "http://"))
	p.checkContrast("sign-in-issuer")
	p.atIssuer()
	p.sees("ABCD-EFGH")
	p.checkContrast("sign-in-code")
	if !p.holds("(a => a.href === " + quoted(idp.URL+"/enter") + " && a.target === '_blank' && a.relList.contains('noopener') && a.relList.contains('noreferrer'))(document.querySelector('.signin section a'))") {
		t.Error("the issuer's page gets a hand on this one, or is another")
	}
	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": "everybody"})
	p.sees("alice@example.com (read), until ")
	p.waits("document.querySelectorAll('.cells .cell.free').length === 4")
	for _, name := range []string{"id", "idToken", "secretAccessKey"} {
		secret := p.noted(name)
		for what, attack := range kept {
			if !p.resolves(strings.ReplaceAll(attack, "SECRET", quoted(secret))) {
				t.Errorf("%s: %s", name, what)
			}
		}
		if strings.Contains(h.output.String(), secret) {
			t.Errorf("%s is in the log of the host", name)
		}
	}
	p.do(chromedp.Reload())
	p.sees("alice@example.com (read)")
	p.visit("#/hosts")
	p.do(chromedp.WaitVisible("tbody a"), chromedp.Click("tbody a"))
	p.waits("[...document.querySelectorAll('.choices button')].every(b => b.disabled && b.title)")
	if keys := h.pinion(t, "key", "ls"); !strings.Contains(keys, "alice@example.com") {
		t.Errorf("%s", keys)
	}
	p.signOut()
	eventually(t, "the key of the person ends", func() bool { return !strings.Contains(h.pinion(t, "key", "ls"), "alice@example.com") })
	p.do(chromedp.Reload(), chromedp.WaitVisible("input[name=key]"))
	lines := h.pinion(t, "audit", "-o", "json")
	for _, operation := range []string{"POST /v1/login", "POST /v1/logout"} {
		if !strings.Contains(lines, operation) || !strings.Contains(lines, "login/alice@example.com") {
			t.Errorf("the audit log has no %s of the person:\n%s", operation, lines)
		}
	}
}

// Whoever is in groups of different rights chooses one; who declines, cancels or has no group is told, and may try again.
func TestASignInOnTheWebPageThatIsNotGranted(t *testing.T) {
	h, idp := withIssuer(t)
	h.pinion(t, "oidc", "map", "--role", "submit", "--cluster", "default", "lab "+hostile)
	p := open(t, h)
	p.atIssuer()
	p.sees("ABCD-EFGH")
	p.do(chromedp.Click(".signin section button"))
	p.waits("!document.querySelector('.device-code')")

	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": "strangers"})
	p.atIssuer()
	p.waits("document.querySelector('.signin section [role=alert]')")
	p.sees("strangers")
	p.checkContrast("sign-in-refused")

	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": []string{"everybody", "lab " + hostile}})
	p.atIssuer()
	p.sees("onerror")
	p.checkContrast("sign-in-groups")
	p.do(chromedp.Evaluate("[...document.querySelectorAll('.signin section button')].find(b => b.textContent.startsWith('lab')).click()", nil))
	p.sees("alice@example.com (submit), until ")
	if p.holds("window.hacked") {
		t.Error("the name of a group was taken for markup")
	}
	p.signOut()
	p.checkBut("status of 403")
}

// What an issuer says becomes neither markup nor a program nor the address of one.
func TestAHostileIssuerDoesNothingOnTheWebPage(t *testing.T) {
	h, idp := withIssuer(t)
	p := open(t, h)
	device := func(url, complete, code string) {
		idp.Answer("/device", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"device_code":"device-1","user_code":%s,"verification_uri":%s,"verification_uri_complete":%s,"expires_in":60,"interval":1}`, quoted(code), quoted(url), quoted(complete))
		})
	}
	const fine, code = "https://idp.example.com/enter", "<img src=x onerror=hacked=1>"
	for _, c := range []struct{ url, complete string }{
		{"javascript:hacked=1", ""}, {fine, "javascript:hacked=1"}, {"data:text/html,<script>opener.hacked=1</script>", ""}, {"http://idp.example.com", ""}, {"#/pool", ""},
	} {
		device(c.url, c.complete, code)
		p.atIssuer()
		p.waits("document.querySelector('.signin section [role=alert]')")
		if p.holds("window.hacked || document.querySelector('.signin a, .signin img')") {
			t.Errorf("%v leads somewhere", c)
		}
	}
	device(fine, fine+"?code=%22onclick=%22hacked=1", code)
	idp.Answer("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":%s}`, quoted(hostile))
	})
	p.atIssuer()
	p.sees(code)
	p.sees(`onerror="window.hacked`) // of the description
	if p.holds("window.hacked || document.querySelector('.signin img, .signin script')") {
		t.Error("a text of the issuer was taken for markup")
	}
	p.checkBut("status of 500", "status of 403")
}
