package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// signByHand signs these headers beside host and date, as AWS's documentation says it: clients with signers of their own
// cover other headers than the SDK for Go does.
func signByHand(r *http.Request, headers ...string) {
	r.Header.Set("X-Amz-Date", now.Format(dateFormat))
	headers = append(headers, "host", "x-amz-date")
	slices.Sort(headers)
	sum := sha256.Sum256([]byte(body))
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n"
	for _, name := range headers {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + strings.Join(strings.Fields(value), " ") + "\n"
	}
	list := strings.Join(headers, ";")
	canonical += "\n" + list + "\n" + hex.EncodeToString(sum[:])
	sum = sha256.Sum256([]byte(canonical))
	scope := now.Format("20060102") + "/us-east-1/ecs/aws4_request"
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	signature := mac(key, algorithm+"\n"+now.Format(dateFormat)+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
	r.Header.Set("Authorization", algorithm+" Credential="+keyID+"/"+scope+", SignedHeaders="+list+", Signature="+hex.EncodeToString(signature))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func plainRequest(t *testing.T) *http.Request {
	r, err := http.NewRequest("POST", "https://pinion.example:7400/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerServiceV20141113.ListTasks")
	r.Header.Set("User-Agent", "aws-sdk-java/1.12  Linux")
	r.Header.Set("X-Amzn-Trace-Id", "Root=1-2-3")
	r.Header.Set("Expect", "100-continue")
	r.Header.Set("X-Mine", "  much   room ")
	return r
}

func TestExactlyTheHeadersThatTheClientSignedAreCovered(t *testing.T) {
	for _, headers := range [][]string{
		{"x-amz-target"}, {"x-amz-target", "user-agent"}, {"x-amz-target", "x-amzn-trace-id"}, {"x-amz-target", "expect"},
		{"x-amz-target", "user-agent", "x-amzn-trace-id", "expect", "x-mine"},
	} {
		r := plainRequest(t)
		signByHand(r, slices.Clone(headers)...)
		if _, err := verify(r, body); err != nil {
			t.Errorf("%q: %v", headers, err)
		}
		for _, name := range headers[1:] {
			changed := r.Clone(t.Context())
			changed.Header.Set(name, "another")
			wantType(t, changed, body, InvalidSignature)
		}
		if !slices.Contains(headers, "user-agent") {
			r.Header.Set("User-Agent", "a proxy's")
			if _, err := verify(r, body); err != nil {
				t.Errorf("%q: a header that is not signed counts: %v", headers, err)
			}
		}
	}
}
