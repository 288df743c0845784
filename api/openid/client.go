// Package openid talks to the OpenID Connect issuer of a pool. A host verifies ID tokens (Verifier), a person's machine gets one (LogIn). What the
// issuer says is not trusted further than its ID tokens: every answer has a bound in time and size, and no answer leads elsewhere.
package openid

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"pinion/raftfsm/issuer"
)

// Bounds of one request to an issuer.
const (
	timeout   = 10 * time.Second
	maxAnswer = 128 << 10 // longer keys would cost more to verify with than a host can spare
)

// newClient reaches an issuer, and the places that its discovery document names: over TLS, unless the issuer is on this machine; never
// by a redirect; and no address of this machine or of its link, where clouds keep the credentials of machines.
func newClient(from *issuer.Issuer) (*http.Client, error) {
	at, err := url.Parse(from.URL)
	if err != nil {
		return nil, err
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(from.CA) > 0 {
		tlsConfig.RootCAs = x509.NewCertPool()
		tlsConfig.RootCAs.AppendCertsFromPEM(from.CA)
	}
	local := issuer.IsLoopback(at)
	dialer := net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error { return checkAddress(address, local) }}
	return &http.Client{
		Timeout: timeout,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %s, which is not followed", r.URL.Redacted())
		},
		Transport: bounded{local, &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: tlsConfig, TLSHandshakeTimeout: timeout, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		}},
	}, nil
}

// checkAddress refuses the addresses that no issuer elsewhere has.
func checkAddress(address string, local bool) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap()
	if ip.IsLoopback() && !local || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
		return fmt.Errorf("%s is not asked: it is an address of this machine or of its link, which only an issuer at that address may name", ip)
	}
	return nil
}

// bounded is a transport whose requests keep to TLS and whose answers have a bound.
type bounded struct {
	local bool // the issuer is on this machine
	next  http.RoundTripper
}

// RoundTrip sends one request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !(b.local && r.URL.Scheme == "http" && issuer.IsLoopback(r.URL)) {
		return nil, fmt.Errorf("%s is not https", r.URL.Redacted())
	}
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{ReadCloser: response.Body, left: maxAnswer}
	}
	return response, err
}

// boundedBody fails beyond its bound: an answer cut short must not be taken for a whole one.
type boundedBody struct {
	io.ReadCloser
	left int
}

var errTooLong = errors.New("the answer of the issuer is longer than any should be")

// Read reads at most what is left.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
