// Package web serves the web page: files that are the same for everybody. The page itself is a client of the API as any other: it signs each
// request with the access key of its user, so that whoever uses it has the rights of that key, and there is no session that another page could use.
package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"pinion/api/httpx"
	"pinion/api/wire"
)

// Path is where the page is.
const Path = "/ui/"

//go:embed assets
var assets embed.FS

// contentSecurityPolicy lets the page load what is of this host, and nothing that stands in the page itself. No other page may show it.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are those of the files, whatever the machine knows of types.
var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

// headers are in every answer.
var headers = map[string]string{
	"Content-Security-Policy":      contentSecurityPolicy,
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// Serve answers GET /ui/ and what is below it.
func Serve(x *httpx.Exchange) error { return serve(x, assets) }

func serve(x *httpx.Exchange, files fs.FS) error {
	name := strings.TrimPrefix(x.Request.URL.Path, Path)
	if name == "" {
		name = "index.html"
	}
	compressed, err := fs.ReadFile(files, "assets/"+name+".gz")
	if err != nil {
		if _, err := fs.Stat(files, "assets/index.html.gz"); err != nil {
			return wire.Errorf(httpx.NotFound, "This pinion was built without the web page: `make build` makes both.")
		}
		return wire.Errorf(httpx.NotFound, "There is nothing at %s: the web page is at %s.", x.Request.URL.Path, Path)
	}
	h := x.Header()
	for name, value := range headers {
		h.Set(name, value)
	}
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if strings.Contains(name, "-") { // its name has a hash of what is in it
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	x.Format = types[path.Ext(name)]
	if httpx.AcceptsGzip(x.Request) {
		h.Set("Content-Type", x.Format)
		h.Set("Content-Encoding", "gzip")
		x.ReplyWhole(http.StatusOK, compressed)
		return nil
	}
	plain, err := gunzip(compressed)
	if err != nil {
		return err
	}
	x.ReplyEncoded(http.StatusOK, plain)
	return nil
}

// Redirect sends a browser that asks for the host alone to the page.
func Redirect(x *httpx.Exchange) error {
	if !strings.Contains(x.Request.Header.Get("Accept"), "text/html") {
		return wire.Errorf(httpx.NotFound, "There is nothing at GET /. Operations are POST /v1/RunTask and so on; GET /v1/openapi.json tells what else there is; the web page is at %s.", Path)
	}
	x.Header().Set("Location", Path)
	x.Format = "text/plain; charset=utf-8"
	x.ReplyEncoded(http.StatusFound, []byte("The web page is at "+Path+".\n"))
	return nil
}

func gunzip(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
