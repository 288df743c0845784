package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"pinion/api/httpx"
	"pinion/api/wire"
)

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// built are the files of a page.
func built(t *testing.T) fstest.MapFS {
	return fstest.MapFS{
		"assets/index.html.gz":       {Data: zip(t, "<!doctype html>")},
		"assets/main-AB12CD34.js.gz": {Data: zip(t, "let page")},
		"assets/README.md":           {Data: []byte("not a part of the page")},
		"secret.gz":                  {Data: zip(t, "beside the page")},
	}
}

// get asks for a path of a page.
func get(t *testing.T, files fstest.MapFS, path string, headers ...string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "https://gpu-1:7400/", nil)
	r.URL.Path = path
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	return answer, serve(&httpx.Exchange{ResponseWriter: answer, Request: r}, files)
}

// Files go out as they lie there, and what has a hash of itself in its name is kept by browsers for ever.
func TestFilesOfThePage(t *testing.T) {
	for path, c := range map[string]struct{ kind, cache, text string }{
		"/ui/":                 {"text/html", "no-cache", "<!doctype html>"},
		"/ui/main-AB12CD34.js": {"text/javascript", "public, max-age=31536000, immutable", "let page"},
	} {
		for _, encoding := range []string{"gzip, br", ""} {
			answer, err := get(t, built(t), path, "Accept-Encoding", encoding)
			if err != nil {
				t.Fatal(path, err)
			}
			text := answer.Body.String()
			if encoding != "" {
				plain, err := gunzip(answer.Body.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				text = string(plain)
			}
			h := answer.Header()
			if text != c.text || !strings.HasPrefix(h.Get("Content-Type"), c.kind) || h.Get("Cache-Control") != c.cache || (h.Get("Content-Encoding") == "gzip") != (encoding != "") {
				t.Errorf("%s %q: %q %v", path, encoding, text, h)
			}
		}
	}
}

// The page runs nothing that is not its own, is shown in no other page, and tells nobody where its user is.
func TestThePageIsOnItsOwn(t *testing.T) {
	answer, err := get(t, built(t), "/ui/")
	if err != nil {
		t.Fatal(err)
	}
	policy := answer.Header().Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, directive) {
			t.Errorf("no %s in %s", directive, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") || strings.Contains(policy, "data:") {
		t.Error(policy)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if cookies := answer.Result().Cookies(); len(cookies) > 0 {
		t.Errorf("%v: there is nothing that another page could send along", cookies)
	}
}

// Nothing but the files of the page is there, whatever the path.
func TestNothingButThePageIsThere(t *testing.T) {
	for _, path := range []string{"/ui/../secret", "/ui/..%2fsecret", "/ui/../../etc/passwd", "/ui//secret", "/ui/README.md", "/ui/.", "/ui/main-AB12CD34.js.gz", "/ui/index.html\x00", "/ui/" + strings.Repeat("a/", 1000)} {
		var refused *wire.Error
		if answer, err := get(t, built(t), path); !errors.As(err, &refused) || answer.Body.Len() > 0 {
			t.Errorf("%q: %v, %q", path, err, answer.Body)
		}
	}
}

// A program that was built without the page says so.
func TestABinaryWithoutThePage(t *testing.T) {
	if _, err := get(t, fstest.MapFS{"assets/README.md": {}}, "/ui/"); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Error(err)
	}
}

// A browser that is given the name of a host alone finds the page; other clients are told what there is.
func TestTheHostAlone(t *testing.T) {
	for accept, want := range map[string]bool{"text/html,application/xhtml+xml": true, "*/*": false, "": false} {
		r := httptest.NewRequest(http.MethodGet, "https://gpu-1:7400/", nil)
		r.Header.Set("Accept", accept)
		answer := httptest.NewRecorder()
		err := Redirect(&httpx.Exchange{ResponseWriter: answer, Request: r})
		if found := err == nil && answer.Code == http.StatusFound && answer.Header().Get("Location") == Path; found != want {
			t.Errorf("%q: %v, %d", accept, err, answer.Code)
		}
	}
}
