package sigv4

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestNoChangedRequestIsAccepted changes one to three parts of valid requests, and holds what is accepted against what
// was signed. Each part is drawn as often as the others, so that all of them are tried; FuzzRequest looks for more.
func TestNoChangedRequestIsAccepted(t *testing.T) {
	originals := []*http.Request{request(t, now, nil), request(t, now, toLogs)}
	another := request(t, now, func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.StopTask") })
	all := append(parts, part{"signature, by another request's", func(_ *rapid.T, r *http.Request, _ *string) {
		r.Header.Set("Authorization", another.Header.Get("Authorization"))
	}})
	rapid.Check(t, func(t *rapid.T) {
		original := originals[rapid.IntRange(0, len(originals)-1).Draw(t, "request")]
		claim, err := parse(original)
		if err != nil {
			t.Fatal(err)
		}
		signed := meaningOf(original, body, claim.signedHeaders)
		changed, content := original.Clone(t.Context()), body
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			chosen := all[rapid.IntRange(0, len(all)-1).Draw(t, "place")]
			t.Logf("the %s is changed", chosen.name)
			chosen.change(t, changed, &content)
		}
		if _, err := verify(changed, content); err == nil && !reflect.DeepEqual(meaningOf(changed, content, claim.signedHeaders), signed) {
			t.Fatalf("accepted: %s %s %q %q %q", changed.Method, changed.Host, changed.URL, changed.Header, content)
		}
	})
}

// part is a part of a request, and how it is changed.
type part struct {
	name   string
	change func(t *rapid.T, r *http.Request, body *string)
}

// parts are where a request can be changed on its way.
var parts = []part{
	{"method", func(t *rapid.T, r *http.Request, _ *string) { r.Method = edited(t, r.Method) }},
	{"host", func(t *rapid.T, r *http.Request, _ *string) { r.Host = edited(t, r.Host) }},
	{"path", func(t *rapid.T, r *http.Request, _ *string) { r.URL.Path = edited(t, r.URL.Path) }},
	{"escaped path", func(t *rapid.T, r *http.Request, _ *string) {
		raw := edited(t, r.URL.EscapedPath())
		if path, err := url.PathUnescape(raw); err == nil { // the server answers 400 to what is no path
			r.URL.Path, r.URL.RawPath = path, raw
		}
	}},
	{"query", func(t *rapid.T, r *http.Request, _ *string) { r.URL.RawQuery = edited(t, r.URL.RawQuery) }},
	{"body", func(t *rapid.T, _ *http.Request, body *string) { *body = edited(t, *body) }},
	{"Authorization", func(t *rapid.T, r *http.Request, _ *string) { editHeader(t, r, "Authorization") }},
	{"X-Amz-Date", func(t *rapid.T, r *http.Request, _ *string) { editHeader(t, r, "X-Amz-Date") }},
	{"X-Amz-Target", func(t *rapid.T, r *http.Request, _ *string) { editHeader(t, r, "X-Amz-Target") }},
	{"Content-Type", func(t *rapid.T, r *http.Request, _ *string) { editHeader(t, r, "Content-Type") }},
	{"Amz-Sdk-Request", func(t *rapid.T, r *http.Request, _ *string) { editHeader(t, r, "Amz-Sdk-Request") }},
}

// editHeader changes a header, doubles it, or takes it away.
func editHeader(t *rapid.T, r *http.Request, name string) {
	switch rapid.IntRange(0, 5).Draw(t, "edit of "+name) {
	case 0:
		r.Header.Del(name)
	case 1:
		r.Header.Add(name, edited(t, r.Header.Get(name)))
	default:
		r.Header.Set(name, edited(t, r.Header.Get(name)))
	}
}

// pieces are what means something in a request, beside single characters.
var pieces = []string{" ", "/", "//", "/../", "%2F", "%20", "+", "&", "=", ";", ",", "a=b", "follow=1", "host;", ";x-amz-target", "\t", "é", "\x00", "us-east-1", "z"}

// edited takes some of the text away and puts a piece, a character or some of the text itself there.
func edited(t *rapid.T, text string) string {
	from := rapid.IntRange(0, len(text)).Draw(t, "from")
	to := min(len(text), from+rapid.IntRange(0, 3).Draw(t, "length"))
	put := rapid.OneOf(rapid.Just(""), rapid.SampledFrom(pieces), rapid.StringN(1, 1, 4), rapid.Just(text[from:])).Draw(t, "put")
	return text[:from] + put + text[to:]
}
