package acme

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// requestTimeout bounds one request to the CA.
	requestTimeout = 30 * time.Second
	// maxAnswer bounds an answer of the CA, in bytes: a chain of certificates is the longest.
	maxAnswer = 1 << 20
)

var errRedirect = errors.New("the CA sends the request elsewhere, which is not followed")

// httpClient asks the CA: over TLS alone, and where the CA's directory says, not where its answers redirect to.
func httpClient(roots *x509.CertPool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: bounded{transport}, Timeout: requestTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}
}

// bounded sends requests over TLS alone, and reads answers within a bound.
type bounded struct{ http.RoundTripper }

// RoundTrip sends one request.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("the CA names %s, which is not https", r.URL.Redacted())
	}
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}
