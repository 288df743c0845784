package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/cli/env"
)

// slow opens a TLS connection from a loopback address and sends the beginning of a request.
func (h *host) slow(t *testing.T, from, begins string) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := tls.DialWithDialer(dialer, "tcp", h.listen, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, begins); err != nil {
		t.Fatal(err)
	}
}

// key is the host's own.
func (h *host) key(t *testing.T) (key env.Access) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, "client.json"))
	if err == nil {
		err = json.Unmarshal(text, &key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signedFrom sends an operation from a loopback address, with the host's own key.
func (h *host) signedFrom(t *testing.T, from, operation, body string) (status int, answer string) {
	t.Helper()
	key := h.key(t)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+h.listen+"/v1/"+operation, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key.KeyID+":"+key.Secret)
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

// A thousand clients that never end their headers, and as many slow large bodies without a key as there are slots: others are served,
// large requests too.
func TestSlowClientsKeepNobodyElseOut(t *testing.T) {
	h := sharedHost(t)
	for range 1000 {
		h.slow(t, "127.0.0.2", "POST /v1/ListClusters HTTP/1.1\r\nHost: x\r\n")
	}
	large := strings.Repeat(" ", 70<<10)
	for range 64 {
		h.slow(t, "127.0.0.3", "POST /v1/ListClusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a:b\r\nContent-Length: 1000000\r\n\r\n"+large)
	}
	for i, body := range []string{"{}", "{}" + large} {
		if status, answer := h.signedFrom(t, fmt.Sprintf("127.0.0.%d", 4+i), "ListClusters", body); status != http.StatusOK {
			t.Errorf("%d bytes from another address: %d %s", len(body), status, answer)
		}
	}
}

// use is what the host's process holds of the machine.
type use struct{ files, bytes int }

func (h *host) use(t *testing.T) use {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d/", h.cmd.Process.Pid)
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(proc + "statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(status), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return use{files: len(files), bytes: resident * os.Getpagesize()}
}

// slowStream is a request whose body the test writes.
type slowStream struct {
	*io.PipeWriter
	status chan int // of the answer; 0: there was none
}

// streams sends requests on one HTTP/2 connection from a loopback address, with bodies of so many bytes. hangUp ends the connection
// when all have been answered.
func (h *host) streams(t *testing.T, from string, count, size int) (all []slowStream, hangUp func()) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxConnsPerHost: 1}
	key := h.key(t)
	for range count {
		body, write := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+h.listen+"/v1/ListClusters", body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = int64(size)
		r.Header.Set("Authorization", "Bearer "+key.KeyID+":"+key.Secret)
		stream := slowStream{write, make(chan int, 1)}
		go func() {
			response, err := transport.RoundTrip(r)
			if err != nil || response.ProtoMajor != 2 {
				stream.status <- 0
				return
			}
			defer response.Body.Close()
			_, _ = io.Copy(io.Discard, response.Body)
			stream.status <- response.StatusCode
		}()
		all = append(all, stream)
	}
	return all, transport.CloseIdleConnections
}

// Eight hundred streams on sixteen connections, each from an address of its own, send their bodies a byte at a time. Meanwhile others are served,
// a stream costs the host little memory, and in the end each is answered and the host has as many files open as before.
func TestSlowStreamsLeaveNothingBehind(t *testing.T) {
	h := sharedHost(t)
	const perConnection, bytesPerStream = 50, 128 << 10 // a connection may have 64
	body := "{}" + strings.Repeat(" ", 6)
	before := h.use(t)
	var all []slowStream
	var hangUps []func()
	for i := range 16 {
		streams, hangUp := h.streams(t, fmt.Sprintf("127.0.2.%d", 1+i), perConnection, len(body))
		all, hangUps = append(all, streams...), append(hangUps, hangUp)
	}
	for i := range body {
		for _, s := range all {
			if _, err := s.Write([]byte(body[i : i+1])); err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		if status, answer := h.signedFrom(t, "127.0.2.99", "ListClusters", "{}"); status != http.StatusOK {
			t.Fatalf("from another address: %d %s", status, answer)
		}
	}
	if now := h.use(t); now.bytes > before.bytes+bytesPerStream*len(all) {
		t.Errorf("before %+v, with %d slow streams %+v", before, len(all), now)
	}
	for i, s := range all {
		s.Close()
		if status := <-s.status; status != http.StatusOK {
			t.Errorf("stream %d is answered %d", i, status)
		}
	}
	for _, hangUp := range hangUps {
		hangUp()
	}
	eventually(t, "no more files are open than before", func() bool { return h.use(t).files <= before.files })
}
