package http1

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// writeHead writes the request line and the headers. How long the body is, is said in one way only; names and values that could be read as another
// header are an error.
func writeHead(w *bufio.Writer, r *http.Request) error {
	target, host, err := targetOf(r)
	if err != nil {
		return err
	}
	for _, part := range [...]string{r.Method, " ", target, " HTTP/1.1\r\nHost: ", host, "\r\n"} {
		w.WriteString(part)
	}
	for name, values := range r.Header {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%q is no name of a header", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("header %s has a value with control characters", name)
			}
			if value == "" && name == "User-Agent" {
				continue
			}
			w.WriteString(name)
			w.WriteString(": ")
			w.WriteString(value)
			w.WriteString("\r\n")
		}
	}
	writeLength(w, r)
	_, err = w.WriteString("\r\n")
	return err
}

func writeLength(w *bufio.Writer, r *http.Request) {
	switch {
	case hasBody(r) && r.ContentLength > 0:
		w.WriteString("Content-Length: ")
		w.Write(strconv.AppendInt(w.AvailableBuffer(), r.ContentLength, 10))
		w.WriteString("\r\n")
	case hasBody(r):
		w.WriteString("Transfer-Encoding: chunked\r\n")
	case r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch: // many servers want one
		w.WriteString("Content-Length: 0\r\n")
	}
	if r.Close {
		w.WriteString("Connection: close\r\n")
	}
}

// targetOf is the target of the request line, and the host.
func targetOf(r *http.Request) (target, host string, err error) {
	target = r.URL.RequestURI()
	if !httpguts.ValidHeaderFieldName(r.Method) || strings.ContainsAny(target, " \t\r\n\x00") {
		return "", "", errors.New("the method or the target is malformed")
	}
	if host = r.Host; host == "" {
		host = r.URL.Host
	}
	if host, err = httpguts.PunycodeHostPort(host); err != nil || !httpguts.ValidHostHeader(host) {
		return "", "", errors.New("the host is malformed")
	}
	return target, withoutZone(host), nil
}

// withoutZone removes the zone of an address, which means something on this machine only: [fe80::1%eth0].
func withoutZone(host string) string {
	if before, _, found := strings.Cut(host, "%"); found && strings.HasPrefix(host, "[") {
		if end := strings.LastIndexByte(host, ']'); end > len(before) {
			return before + host[end:]
		}
	}
	return host
}

var errLength = &bodyError{errors.New("the body of the request is not as long as it says")}

// bodyError is a body that cannot be read, which is no fault of the server.
type bodyError struct{ error }

// Unwrap returns the reason.
func (e *bodyError) Unwrap() error { return e.error }

var pieces = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// writeBody sends each piece of the body as it comes, the first with the head.
func (e *roundTrip) writeBody() error {
	buffer := pieces.Get().(*[32 << 10]byte)
	defer pieces.Put(buffer)
	w, length := e.writer, e.request.ContentLength
	for left := length; ; {
		e.wait()
		n, err := e.request.Body.Read(buffer[:])
		if length > 0 {
			if left -= int64(n); left < 0 || err == io.EOF && left > 0 {
				return errLength
			}
			w.Write(buffer[:n])
		} else if n > 0 {
			w.Write(append(strconv.AppendInt(w.AvailableBuffer(), int64(n), 16), '\r', '\n'))
			w.Write(buffer[:n])
			w.WriteString("\r\n")
		}
		last := err == io.EOF || length > 0 && left == 0
		switch {
		case last && length <= 0:
			w.WriteString("0\r\n\r\n")
		case !last && err != nil:
			return &bodyError{err}
		}
		e.sendsLast.Store(last)
		if err := w.Flush(); err != nil || last {
			return err
		}
	}
}
