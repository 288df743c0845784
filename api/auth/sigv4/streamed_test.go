package sigv4_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pinion/api/auth/sigv4"
)

// TestABodyThatIsReadLater signs uploads as the client does, and changes them on the way.
func TestABodyThatIsReadLater(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	secrets := func(id string) (string, bool) { return "secret", id == "key" }
	verifier := sigv4.Verifier{Service: "ecs", Now: func() time.Time { return now }, Signers: &sigv4.SignerCache{}}
	body := bytes.Repeat([]byte("layer"), 1000)
	sum := sha256.Sum256(body)
	right := hex.EncodeToString(sum[:])
	for name, c := range map[string]struct {
		claimed, signed, sent string // hashes, and the body
		verified, read        bool
	}{
		"what was signed":          {right, right, string(body), true, true},
		"another body":             {right, right, "x" + string(body[1:]), true, false},
		"cut off":                  {right, right, string(body[:len(body)-1]), true, false},
		"another hash in the line": {hex.EncodeToString(make([]byte, 32)), right, string(body), false, false},
		"no hash":                  {"", right, string(body), false, false},
		"unsigned":                 {"UNSIGNED-PAYLOAD", "UNSIGNED-PAYLOAD", string(body), false, false},
		"in chunks":                {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", string(body), false, false},
		"no hash of that length":   {"abcd", "abcd", string(body), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "https://host:7400/v1/admin/images/import?name=a", bytes.NewReader(body))
			if c.claimed != "" {
				r.Header.Set("X-Amz-Content-Sha256", c.claimed)
			}
			key := aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}
			if err := v4.NewSigner().SignHTTP(context.Background(), key, r, c.signed, "ecs", "us-east-1", now); err != nil {
				t.Fatal(err)
			}
			r.Body = io.NopCloser(bytes.NewReader([]byte(c.sent)))
			streamed := sigv4.Streamed(r)
			if _, err := verifier.Verify(streamed, nil, secrets); (err == nil) != c.verified {
				t.Fatalf("verified: %v", err)
			}
			if !c.verified {
				return
			}
			if _, err := io.ReadAll(streamed.Body); (err == nil) != c.read {
				t.Errorf("read: %v", err)
			}
		})
	}
}
