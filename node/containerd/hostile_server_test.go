package containerd_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"
)

// on answers requests whose path contains part by handler, and others by the one behind it.
func on(part string, handler http.HandlerFunc, behind ...http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, part) {
			handler(w, r)
			return
		}
		behind[0].ServeHTTP(w, r)
	})
}

func (o *origin) on(part string, handler http.HandlerFunc) http.Handler { return on(part, handler, o) }

func (o *origin) onLayer(handler http.HandlerFunc) http.Handler {
	return o.on(o.layerDoc["digest"].(string), handler)
}

// hangUp cuts the connection.
func hangUp(w http.ResponseWriter) {
	flush(w)
	panic(http.ErrAbortHandler)
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// pause is a server that takes its time.
func pause(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
	case <-timer.C:
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(bytes.Repeat([]byte{' '}, 64<<10)); err != nil {
			return
		}
	}
}

func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte{' '}); err != nil {
			return
		}
		flush(w)
		pause(r, 20*time.Millisecond)
	}
}

// sayRaw writes the first text on the connection, and then the last one for ever when there are several.
func sayRaw(w http.ResponseWriter, texts []string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, err = io.WriteString(conn, texts[0])
	for err == nil && len(texts) > 1 {
		_, err = io.WriteString(conn, texts[1])
	}
}

// quietWriter leaves out the digest.
type quietWriter struct{ http.ResponseWriter }

func (w *quietWriter) WriteHeader(status int) {
	w.Header().Del("Docker-Content-Digest")
	w.ResponseWriter.WriteHeader(status)
}
