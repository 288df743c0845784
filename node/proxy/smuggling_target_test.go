package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// strictTarget reads requests to the letter of RFC 9112 and by code of its own: what net/http at both ends would read alike, wrongly, shows here.
type strictTarget struct {
	mu   sync.Mutex
	seen []string // "METHOD target host body", or "!" and what is wrong
}

func (s *strictTarget) serve(conn net.Conn) {
	reader := bufio.NewReader(conn)
	for {
		request, err := readStrictly(reader)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // no target acts on half a request
			return
		}
		if err != nil {
			request = "!" + err.Error()
		}
		s.mu.Lock()
		s.seen = append(s.seen, request)
		s.mu.Unlock()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

// saw lists the requests that the target read from all clients, in order.
func (s *strictTarget) saw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, " | ")
}

func readStrictly(r *bufio.Reader) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	method, rest, ok1 := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || version != "HTTP/1.1" || !strings.HasPrefix(target, "/") {
		return "", fmt.Errorf("request line %q", line)
	}
	headers := map[string][]string{}
	for {
		line, err := readLine(r)
		if err != nil {
			return "", fmt.Errorf("in headers: %w", err)
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok || strings.ContainsAny(name, " \t\r\n\x00()<>@,;:\\\"/[]?={}") || strings.ContainsAny(value, "\r\n\x00") {
			return "", fmt.Errorf("header %q", line)
		}
		headers[http.CanonicalHeaderKey(name)] = append(headers[http.CanonicalHeaderKey(name)], value)
	}
	body, err := readBody(r, headers["Content-Length"], headers["Transfer-Encoding"])
	if err == nil && len(headers["Host"]) != 1 {
		err = fmt.Errorf("hosts %q", headers["Host"])
	}
	if err == nil && (headers["Upgrade"] != nil && headers["Upgrade"][0] != "websocket" || headers["Content_length"] != nil) {
		err = fmt.Errorf("a header that should have been dropped: %v", headers)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", method, target, strings.Join(headers["Host"], ","), body)), err
}

func readBody(r *bufio.Reader, lengths, encodings []string) (string, error) {
	switch {
	case len(lengths)+len(encodings) > 1:
		return "", fmt.Errorf("lengths %q and encodings %q", lengths, encodings)
	case len(lengths) == 1:
		n, err := strconv.ParseUint(lengths[0], 10, 32)
		if err != nil {
			return "", err
		}
		body := make([]byte, n)
		_, err = io.ReadFull(r, body)
		return string(body), err
	case len(encodings) == 1 && encodings[0] == "chunked":
		return readChunks(r)
	case len(encodings) == 1:
		return "", fmt.Errorf("encoding %q", encodings)
	}
	return "", nil
}

func readChunks(r *bufio.Reader) (body string, err error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return "", fmt.Errorf("in chunks: %w", err)
		}
		n, err := strconv.ParseUint(line, 16, 32)
		if err != nil {
			return "", err
		}
		chunk := make([]byte, n)
		if _, err := io.ReadFull(r, chunk); err != nil {
			return "", err
		}
		if end, err := readLine(r); end != "" || err != nil {
			return "", fmt.Errorf("after a chunk: %q, %w", end, err)
		}
		if body += string(chunk); n == 0 {
			return body, nil
		}
	}
}

// readLine is a line without its CR LF; a CR or LF alone is an error.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line, ok := strings.CutSuffix(line, "\r\n")
	if !ok || strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("line end of %q", line)
	}
	return line, nil
}
