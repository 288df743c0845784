package sigv4

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// meaning is all that a server can read from a request that its signature has to cover.
type meaning struct {
	method, host, path, body string
	query                    url.Values
	headers                  map[string]string // those that were signed
	keyID, date, region      string
}

// meaningOf reads a request whose headers of that list were signed, without anything of what verifies it: headers as RFC
// 9110 joins and trims them, a parameter's values in any order (Signature Version 4 sorts them).
func meaningOf(r *http.Request, body string, signed []string) meaning {
	m := meaning{method: r.Method, host: strings.TrimSpace(r.Host), path: cmp.Or(r.URL.Path, "/"), body: body, query: r.URL.Query(), headers: map[string]string{}}
	for _, values := range m.query {
		slices.Sort(values)
	}
	for _, name := range signed {
		if name == "host" || name == "content-length" { // the former is above, the latter follows from the body
			continue
		}
		values := slices.Clone(r.Header.Values(name))
		for i, value := range values {
			values[i] = strings.Join(strings.Fields(value), " ")
		}
		m.headers[name] = strings.Join(values, ",")
	}
	if claim, err := parse(r); err == nil {
		m.keyID, m.date, m.region = claim.keyID, claim.date, claim.region
	}
	return m
}

// written is a signed request as it goes over the wire: to the root, or with a path and a query.
func written(t testing.TB, change func(*http.Request)) []byte {
	t.Helper()
	var raw bytes.Buffer
	if err := request(t, now, change).Write(&raw); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

func toLogs(r *http.Request) {
	r.Method, r.URL.Path, r.URL.RawQuery = "GET", "/v1/tasks/a b/logs", "follow=1&since=2026-01-02T03:04:05Z&since=x"
	r.Header.Del("X-Amz-Target")
}

// readRequest is what a server makes of the bytes of a connection.
func readRequest(raw []byte) (*http.Request, string, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

// FuzzRequest: whatever comes over the wire, nothing panics, and what is accepted means what was signed.
func FuzzRequest(f *testing.F) {
	var signed []meaning
	headers := [][]string{}
	for _, change := range []func(*http.Request){nil, toLogs} {
		raw := written(f, change)
		r, body, err := readRequest(raw)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := verify(r, body); err != nil {
			f.Fatalf("%v:\n%s", err, raw)
		}
		claim, err := parse(r)
		if err != nil {
			f.Fatal(err)
		}
		headers, signed = append(headers, claim.signedHeaders), append(signed, meaningOf(r, body, claim.signedHeaders))
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, body, err := readRequest(raw)
		if err != nil {
			return
		}
		if _, err := verify(r, body); err != nil {
			return
		}
		for i := range signed {
			if reflect.DeepEqual(meaningOf(r, body, headers[i]), signed[i]) {
				return
			}
		}
		t.Errorf("accepted, and nobody signed it:\n%s", raw)
	})
}
