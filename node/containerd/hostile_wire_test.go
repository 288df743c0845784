package containerd_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// wireFaults are lies in how a registry answers. The handler that lie returns is in front of the honest one.
var wireFaults = []struct {
	name    string
	outcome outcome
	lie     func(o *origin) http.Handler
}{
	{"refusals", refused, func(o *origin) http.Handler {
		status := []int{400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 416, 418, 429, 451, 500, 501, 502, 503, 504, 507, 511, 599, 999}[o.random.IntN(24)]
		return on("", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("no", 100_000), status) })
	}},
	{"refusals now and then", either, func(o *origin) http.Handler {
		status, every := 400+o.random.IntN(120), int64(2+o.random.IntN(4))
		var n atomic.Int64
		return o.on("", func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%every == 0 {
				w.WriteHeader(status)
				return
			}
			o.ServeHTTP(w, r)
		})
	}},
	{"layers that are refused", refused, func(o *origin) http.Handler {
		status := []int{401, 403, 404, 410, 429, 500, 502, 503, 204, 205, 206, 304, 416}[o.random.IntN(13)]
		return o.on("/blobs/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}},
	{"a body that is cut once", pulled, func(o *origin) http.Handler {
		var cut atomic.Bool
		at := 1 + o.random.IntN(len(o.layer)-1)
		return o.onLayer(func(w http.ResponseWriter, r *http.Request) {
			if cut.Swap(true) {
				o.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(o.layer)))
			w.Write(o.layer[:at])
			hangUp(w)
		})
	}},
	{"a body that is cut each time", refused, func(o *origin) http.Handler {
		at := o.random.IntN(len(o.layer) - 1)
		return o.onLayer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(o.layer)))
			w.Write(o.layer[:at])
			hangUp(w)
		})
	}},
	{"a connection that is cut", refused, func(o *origin) http.Handler {
		return on([]string{"", "/blobs/", "/manifests/"}[o.random.IntN(3)], func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }, o)
	}},
	{"one byte a connection", refused, func(o *origin) http.Handler {
		return o.onLayer(func(w http.ResponseWriter, r *http.Request) {
			from := 0
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(o.layer)-1, len(o.layer)))
			w.Header().Set("Content-Length", fmt.Sprint(len(o.layer)-from))
			w.WriteHeader(http.StatusPartialContent)
			if from < len(o.layer) {
				w.Write(o.layer[from : from+1])
			}
			flush(w)
			pause(r, 20*time.Millisecond)
			hangUp(w)
		})
	}},
	{"a range that lies", refused, func(o *origin) http.Handler {
		kind, at := o.random.IntN(5), 1+o.random.IntN(len(o.layer)/2)
		return o.onLayer(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") == "" {
				w.Header().Set("Content-Length", fmt.Sprint(len(o.layer)))
				w.Write(o.layer[:at])
				hangUp(w)
			}
			switch kind {
			case 0: // the beginning once more
				w.WriteHeader(http.StatusPartialContent)
				w.Write(o.layer)
			case 1: // another range than was asked for
				w.Header().Set("Content-Range", "bytes 0-10/11")
				w.WriteHeader(http.StatusPartialContent)
				w.Write(o.layer[:11])
			case 2:
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			case 3: // without an end
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at, 1<<40, 1<<40))
				w.WriteHeader(http.StatusPartialContent)
				endless(w, r)
			case 4: // other bytes
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at, len(o.layer)-1, len(o.layer)))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(make([]byte, len(o.layer)-at))
			}
		})
	}},
	{"a body without an end", refused, func(o *origin) http.Handler {
		return on([]string{"/manifests/", "/blobs/"}[o.random.IntN(2)], func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				return
			}
			endless(w, r)
		}, o)
	}},
	{"a refusal without an end", refused, func(o *origin) http.Handler {
		return on("", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); endless(w, r) })
	}},
	{"a drip", refused, func(o *origin) http.Handler {
		return on([]string{"/manifests/", "/blobs/"}[o.random.IntN(2)], func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				o.ServeHTTP(w, r)
				return
			}
			drip(w, r)
		}, o)
	}},
	{"headers without an end", refused, func(o *origin) http.Handler {
		kind := o.random.IntN(4)
		return on("", func(w http.ResponseWriter, r *http.Request) {
			sayRaw(w, [][]string{
				{"HTTP/1.1 200 OK\r\n", "X-More: " + strings.Repeat("x", 1000) + "\r\n"},
				{"HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"},
				{"HTTP/1.1 200 ", strings.Repeat("x", 1000)},
				{"HTTP/1.1 302 Found\r\nLocation: " + r.URL.Path + "/more\r\n", shortHeaders()},
			}[kind])
		})
	}},
	{"an answer that is not HTTP", refused, func(o *origin) http.Handler {
		text := []string{"SSH-2.0-x\r\n", "\x15\x03\x01\x00\x02\x02\x28", "HTTP/9.9 -1 x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", ""}[o.random.IntN(7)]
		return on("", func(w http.ResponseWriter, r *http.Request) { sayRaw(w, []string{text}) })
	}},
	{"a redirect", refused, func(o *origin) http.Handler {
		to := []string{"", "/loop", "file:///etc/passwd", "gopher://x/", "http://169.254.169.254/latest/meta-data/", "http://[fe80::1%25lo]/", "http://[fd00:ec2::254]/", "//", "http://" + strings.Repeat("x", 100_000),
			"http://127.0.0.1:1/", "http://0.0.0.0:1/", "http://user:password@127.0.0.1:1/", "\x00", "https://" + o.self + "/v2/"}[o.random.IntN(14)]
		status := []int{301, 302, 303, 307, 308}[o.random.IntN(5)]
		return on([]string{"", "/blobs/"}[o.random.IntN(2)], func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}, o)
	}},
	{"redirects in a circle", refused, func(o *origin) http.Handler {
		return on("", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, fmt.Sprint(r.URL.Path, "x"), http.StatusFound)
		})
	}},
	{"a redirect of layers to another host", pulled, func(o *origin) http.Handler {
		return o.on("/blobs/", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+o.elsewhere+"/"+r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], http.StatusTemporaryRedirect)
		})
	}},
	{"a redirect to a registry with credentials", refused, func(o *origin) http.Handler {
		return on("", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+o.victim+"/open", http.StatusTemporaryRedirect)
		})
	}},
	{"a challenge", refused, func(o *origin) http.Handler {
		challenge := []string{
			`Basic realm="` + o.victim + `"`,
			`Bearer realm="http://` + o.self + `/token",service="` + o.victim + `",scope="registry:catalog:*"`,
			`Bearer realm="http://` + o.victim + `/open"`,
			`Bearer realm="file:///etc/passwd"`, `Bearer realm="http://169.254.169.254/latest/api/token"`, `Bearer realm=""`, `Bearer`, `Digest realm="x"`, `Negotiate`, `,,,="`, strings.Repeat("Bearer ", 10_000),
			`Bearer realm="http://` + o.self + `/token",service="x",error="insufficient_scope"`,
		}[o.random.IntN(12)]
		return on("/v2/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}, o)
	}},
	{"a token", refused, func(o *origin) http.Handler {
		kind := o.random.IntN(6)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/token" {
				w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+o.self+`/token",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			switch kind {
			case 0:
				io.WriteString(w, `{"token":"`)
				endless(w, r)
			case 1:
				io.WriteString(w, `{"token":"`+strings.Repeat("x", 3<<20)+`"}`)
			case 2:
				io.WriteString(w, "no JSON")
			case 3:
				io.WriteString(w, `{"token":"a\r\nX-Evil: 1"}`)
			case 4:
				io.WriteString(w, `{}`)
			case 5:
				drip(w, r)
			}
		})
	}},
	{"an encoding", refused, func(o *origin) http.Handler {
		kind := o.random.IntN(4)
		return o.onLayer(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", []string{"br", "gzip", "gzip, gzip, gzip", "zstd"}[kind])
			if kind == 1 {
				w.Write(gzipped(make([]byte, 64<<20)))
				return
			}
			w.Write(o.layer)
		})
	}},
	{"one digest for HEAD and another for GET", refused, func(o *origin) http.Handler {
		return o.on("/manifests/", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
				w.Header().Set("Content-Length", "500")
				return
			}
			o.ServeHTTP(&quietWriter{w}, r)
		})
	}},
	{"no HEAD", pulled, func(o *origin) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			o.ServeHTTP(w, r)
		})
	}},
	{"control characters", refused, func(o *origin) http.Handler {
		return on("", func(w http.ResponseWriter, r *http.Request) {
			sayRaw(w, []string{"HTTP/1.1 500 \x1b[2J\x1b]0;owned\x07\xff\xfe\r\nContent-Length: 0\r\n\r\n"})
		})
	}},
	{"silence", refused, func(o *origin) http.Handler {
		return on([]string{"/manifests/", "/blobs/"}[o.random.IntN(2)], func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, o)
	}},
}

// shortHeaders are lines with many names, which take more memory than other headers of the same length.
var shortHeaders = sync.OnceValue(func() string {
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, "%05x:\n", i)
	}
	return lines.String()
})
