package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pinion/api/wire"
)

const (
	keyID  = "AKIAABCDEFGHIJKLMNOP"
	secret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	body   = `{"cluster":"default"}`
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func lookup(id string) (string, bool) { return secret, id == keyID }

// request is one that AWS's signer has signed just now, as the Go SDK sends it.
func request(t testing.TB, at time.Time, change func(*http.Request)) *http.Request {
	t.Helper()
	r, err := http.NewRequest("POST", "https://pinion.example:7400/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.ListTasks")
	r.Header.Set("Amz-Sdk-Request", "attempt=1; max=3")
	if change != nil {
		change(r)
	}
	sum := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(t.Context(), key, r, hex.EncodeToString(sum[:]), "ecs", "us-east-2", at); err != nil {
		t.Fatal(err)
	}
	return r
}

// known is what all checks of the tests remember together, as those of a host do.
var known SignerCache

func verify(r *http.Request, body string) (Identity, error) {
	return Verifier{Service: "ecs", Now: func() time.Time { return now }, Signers: &known}.Verify(r, []byte(body), lookup)
}

func TestWhatAWSSignsIsAccepted(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"as it is": nil,
		"with a path and a query": func(r *http.Request) {
			r.URL.Path, r.URL.RawQuery = "/v1/tasks/a b/logs", "follow=1&since=2026-01-02T03:04:05Z"
		},
		"without a target":     func(r *http.Request) { r.Header.Del("X-Amz-Target") },
		"with a session token": func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "token") },
		"on the default port":  func(r *http.Request) { r.URL.Host, r.Host = "pinion.example", "pinion.example" },
		"without a length":     func(r *http.Request) { r.ContentLength = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			who, err := verify(request(t, now, change), body)
			if err != nil || who.KeyID != keyID || who.Region != "us-east-2" || len(who.Signature) != 64 {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
	for _, off := range []time.Duration{-Skew, Skew} {
		if _, err := verify(request(t, now.Add(off), nil), body); err != nil {
			t.Errorf("a clock that is %v off: %v", off, err)
		}
	}
}

func TestWhatWasChangedOnTheWayIsRefused(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"another target":     func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.StopTask") },
		"another host":       func(r *http.Request) { r.Host = "evil.example" },
		"another method":     func(r *http.Request) { r.Method = "GET" },
		"another path":       func(r *http.Request) { r.URL.Path = "/v1/StopTask" },
		"a query":            func(r *http.Request) { r.URL.RawQuery = "a=b" },
		"another header":     func(r *http.Request) { r.Header.Set("Amz-Sdk-Request", "attempt=2") },
		"another date":       func(r *http.Request) { r.Header.Set("X-Amz-Date", now.Add(time.Second).Format(dateFormat)) },
		"another region":     replace("us-east-2", "us-east-1"),
		"a flipped digit":    func(r *http.Request) { flipLastDigit(r) },
		"a header less":      replace("amz-sdk-request;", ""),
		"a header more":      replace("host;", "host;x-extra;"),
		"a header vanished":  func(r *http.Request) { r.Header.Del("Amz-Sdk-Request") },
		"a header was added": func(r *http.Request) { r.Header.Add("Amz-Sdk-Request", "more") },
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, now, nil)
			change(r)
			wantType(t, r, body, InvalidSignature)
		})
	}
	wantType(t, request(t, now, nil), body+" ", InvalidSignature)
}

func TestWhatIsNotASignature(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*http.Request)
		kind    string
		message string
	}{
		"nothing":               {func(r *http.Request) { r.Header.Del("Authorization") }, MissingAuthenticationToken, "The request carries no signature: sign it with an access key (AWS Signature Version 4), or send \"Authorization: Bearer KEYID:SECRET\". `pinion env` on a host prints a key."},
		"another scheme":        {func(r *http.Request) { r.Header.Set("Authorization", "Basic x") }, IncompleteSignature, "The signature is not complete: the Authorization header must begin with AWS4-HMAC-SHA256."},
		"no signature in it":    {func(r *http.Request) { r.Header.Set("Authorization", algorithm+" Credential=a/b/c/d/e") }, IncompleteSignature, "The signature is not complete: the Authorization header must have Credential=KEY/DATE/REGION/SERVICE/aws4_request, SignedHeaders and a Signature of 64 hex digits."},
		"no date":               {func(r *http.Request) { r.Header.Del("X-Amz-Date") }, IncompleteSignature, "The signature is not complete: the X-Amz-Date header must be there and look like 20060102T150405Z."},
		"two targets":           {func(r *http.Request) { r.Header.Add("X-Amz-Target", "x") }, IncompleteSignature, "The signature is not complete: the X-Amz-Target header is there more than once."},
		"an unknown key":        {replace(keyID, "AKIAUNKNOWN"), UnrecognizedClient, "The security token included in the request is invalid: this pool has no access key with that id. `pinion env` on a host prints one."},
		"another service":       {replace("/ecs/", "/s3/"), InvalidSignature, "Credential should be scoped to correct service: 'ecs'."},
		"another day":           {replace("20260102", "20260101"), InvalidSignature, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20260101' != '20260102'."},
		"a target not covered":  {replace(";x-amz-target", ""), InvalidSignature, "'x-amz-target' must be a 'SignedHeader' in the AWS Authorization."},
		"a host not covered":    {replace("host;", ""), InvalidSignature, "'host' must be a 'SignedHeader' in the AWS Authorization."},
		"a date not covered":    {replace(";x-amz-date", ""), InvalidSignature, "'x-amz-date' must be a 'SignedHeader' in the AWS Authorization."},
		"an unsigned payload":   {func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD") }, InvalidSignature, "The signature must cover the body: UNSIGNED-PAYLOAD is not accepted."},
		"a streamed payload":    {func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") }, InvalidSignature, "The signature must cover the body: STREAMING-AWS4-HMAC-SHA256-PAYLOAD is not accepted."},
		"another payload":       {func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", strings.Repeat("0", 64)) }, InvalidSignature, "The provided 'x-amz-content-sha256' header does not match what was computed."},
		"a presigned request":   {func(r *http.Request) { r.URL.RawQuery = "X-Amz-Signature=abc" }, InvalidSignature, "Presigned requests are not accepted: put the signature into the Authorization header."},
		"a region with a slash": {replace("us-east-2", "US_EAST"), InvalidSignature, "Credential should be scoped to a region, such as us-east-1."},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, now, nil)
			c.change(r)
			if got := wantType(t, r, body, c.kind); got != nil && got.Message != c.message {
				t.Errorf("got  %q\nwant %q", got.Message, c.message)
			}
		})
	}
}

// A target that was slipped in after signing must not decide what is done.
func TestATargetAddedAfterSigningIsRefused(t *testing.T) {
	r := request(t, now, func(r *http.Request) { r.Header.Del("X-Amz-Target") })
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.StopTask")
	wantType(t, r, body, InvalidSignature)
}

func TestAClockThatIsOffIsToldBothClocks(t *testing.T) {
	late := wantType(t, request(t, now.Add(-20*time.Minute), nil), body, InvalidSignature)
	if want := "Signature expired: 20260102T024405Z is now earlier than 20260102T025905Z (20260102T030405Z - 5 min.). The request was signed at 20260102T024405Z by your clock, it is 20260102T030405Z by this host's: set the clock that is wrong."; late.Message != want {
		t.Errorf("got  %q\nwant %q", late.Message, want)
	}
	early := wantType(t, request(t, now.Add(20*time.Minute), nil), body, InvalidSignature)
	if want := "Signature not yet current: 20260102T032405Z is still later than 20260102T030905Z (20260102T030405Z + 5 min.)."; !strings.HasPrefix(early.Message, want) {
		t.Errorf("got  %q\nwant %q", early.Message, want)
	}
}

// Whatever is in the header, nothing is accepted that was not signed, and nothing panics.
func FuzzAuthorization(f *testing.F) {
	good := request(f, now, nil)
	signed := good.Header.Get("Authorization")
	f.Add(signed, now.Format(dateFormat))
	f.Add(algorithm+" Credential=a/b/c/d/e, SignedHeaders=;;, Signature="+strings.Repeat("0", 64), "x")
	f.Fuzz(func(t *testing.T, authorization, date string) {
		r := good.Clone(t.Context())
		r.Header["Authorization"], r.Header["X-Amz-Date"] = []string{authorization}, []string{date}
		if _, err := verify(r, body); err == nil && !sameSignature(authorization, signed) {
			t.Errorf("accepted %q %q", authorization, date)
		}
	})
}

// sameSignature reports whether two headers hold the same signature: only its 64 digits prove anything.
func sameSignature(a, b string) bool {
	_, b, _ = strings.Cut(b, "Signature=")
	return strings.Contains(a, b)
}

// BenchmarkSign is the reference of BenchmarkVerify: the signer's own work.
func BenchmarkSign(b *testing.B) {
	for b.Loop() {
		request(b, now, nil)
	}
}

func BenchmarkVerify(b *testing.B) {
	r := request(b, now, nil)
	for b.Loop() {
		if _, err := verify(r, body); err != nil {
			b.Fatal(err)
		}
	}
}

func wantType(t testing.TB, r *http.Request, body, kind string) *wire.Error {
	t.Helper()
	_, err := verify(r, body)
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok || refusal.Type != kind {
		t.Fatalf("got %v, want %s", err, kind)
	}
	return refusal
}

func replace(old, with string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", strings.ReplaceAll(r.Header.Get("Authorization"), old, with))
	}
}

func flipLastDigit(r *http.Request) {
	header := []byte(r.Header.Get("Authorization"))
	header[len(header)-1] ^= 1
	r.Header.Set("Authorization", string(header))
}
