package sigv4

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"strings"

	"pinion/api/wire"
)

type streamedKey struct{}

// Streamed is a request whose body is read after Verify, because it is too large to be held. Verify takes the hash that the signature
// covers for that of the body; who reads the body to its end gets an error there if it is another one. Nothing of the body may have an
// effect before that. A request without a signature is as it was.
func Streamed(r *http.Request) *http.Request {
	claimed := r.Header.Get("X-Amz-Content-Sha256")
	if !strings.HasPrefix(r.Header.Get("Authorization"), algorithm) {
		return r
	}
	streamed := r.WithContext(context.WithValue(r.Context(), streamedKey{}, true))
	streamed.Body = &streamedBody{ReadCloser: r.Body, sum: sha256.New(), claimed: claimed}
	return streamed
}

// bodyHash is the hash of the body in hexadecimal digits, or what is claimed of one that is read later: 64 of them.
func bodyHash(r *http.Request, body []byte) string {
	if r.Context().Value(streamedKey{}) != nil {
		return r.Header.Get("X-Amz-Content-Sha256")
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// bodyLength is the length of the body in bytes, or what is said of one that is read later: the server reads no more than that.
func bodyLength(r *http.Request, body []byte) int64 {
	if r.Context().Value(streamedKey{}) != nil {
		return r.ContentLength
	}
	return int64(len(body))
}

// isHash reports whether a text is a SHA-256 hash.
func isHash(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

// streamedBody is a body that has to be what was signed. Its error is a read of its own: a reader that asks for so many bytes forgets one that
// comes with the last of them.
type streamedBody struct {
	io.ReadCloser
	sum     hash.Hash
	claimed string
	end     error // nil until the end was seen
}

func (b *streamedBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	if err == io.EOF && !strings.EqualFold(hex.EncodeToString(b.sum.Sum(nil)), b.claimed) {
		err = wire.Errorf(InvalidSignature, "The body is not what was signed: its SHA-256 is not that of 'x-amz-content-sha256'.")
	}
	if b.end = err; n > 0 {
		err = nil
	}
	return n, err
}
