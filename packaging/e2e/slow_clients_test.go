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

// signedFrom sends an operation from a loopback address, with the host's own key.
func (h *host) signedFrom(t *testing.T, from, operation, body string) (status int, answer string) {
	t.Helper()
	var key env.Access
	text, err := os.ReadFile(filepath.Join(h.dir, "client.json"))
	if err == nil {
		err = json.Unmarshal(text, &key)
	}
	if err != nil {
		t.Fatal(err)
	}
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
