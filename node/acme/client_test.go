package acme

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A CA is asked over TLS where its directory says. What it answers leads to no other place, and is read within a bound.
func TestAnswersOfACALeadNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request went elsewhere") }))
	defer elsewhere.Close()
	ca := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		_, _ = io.Copy(w, io.LimitReader(strings.NewReader(strings.Repeat("x", 2*maxAnswer)), 2*maxAnswer))
	}))
	defer ca.Close()
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate())
	client := httpClient(roots)
	for _, url := range []string{ca.URL + "/redirect", elsewhere.URL} {
		if answer, err := client.Get(url); err == nil {
			answer.Body.Close()
			t.Errorf("%s is answered with %d", url, answer.StatusCode)
		}
	}
	answer, err := client.Get(ca.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if read, err := io.Copy(io.Discard, answer.Body); err == nil || read > maxAnswer {
		t.Errorf("%d bytes were read, %v", read, err)
	}
}
