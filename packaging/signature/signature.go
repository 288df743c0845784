// Package signature signs releases and verifies them, in the format of minisign (https://jedisct1.github.io/minisign/): Ed25519 over the
// BLAKE2b digest of the file, and over the signature with its trusted comment. The program minisign reads what it writes, and writes what it reads.
package signature

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aead.dev/minisign"
)

// Extension is the suffix of a signature's file name.
const Extension = ".minisig"

// maxBytes bounds the text of a signature: four lines, two of which are comments.
const maxBytes = 8 << 10

// Reasons of Verify.
var (
	// ErrNoKeys means that nobody has said whose signatures count.
	ErrNoKeys = errors.New("no release key is trusted here: give one with `pinion up --release-key KEY`")
	// ErrMalformed means that the text is no signature of minisign, or one of the old kind, which is not over a digest.
	ErrMalformed = errors.New("this is no signature of a release")
	// ErrUnknownKey means that the signature was made with a key that is not trusted here.
	ErrUnknownKey = errors.New("the signature was made with a key that is not trusted here")
	// ErrMismatch means that the file, or the trusted comment, is not what was signed.
	ErrMismatch = errors.New("the signature is not one of this file: the file or the signature was changed")
)

// Sign reads a file to its end and returns the text of its signature. The comment is signed, too; it is one line.
func Sign(file io.Reader, key PrivateKey, comment string) ([]byte, error) {
	if strings.ContainsAny(comment, "\r\n") {
		return nil, fmt.Errorf("the comment %q of a signature has several lines", comment)
	}
	digest := minisign.NewReader(file)
	if _, err := io.Copy(io.Discard, digest); err != nil {
		return nil, fmt.Errorf("reading the file to sign: %w", err)
	}
	return digest.SignWithComments(key.key, comment, "signature of a Pinion release, key "+keyID(key.key.ID())), nil
}

// Verify reads a file to its end, and returns the comment that was signed with it when the signature is that of one of the keys.
// The file counts only when the error is nil: do not use what was read before. Errors wrap ErrNoKeys, ErrMalformed, ErrUnknownKey or ErrMismatch,
// or are those of the reader.
func Verify(file io.Reader, signature []byte, keys Keys) (comment string, err error) {
	if len(keys) == 0 {
		return "", ErrNoKeys
	}
	if len(signature) > maxBytes {
		return "", fmt.Errorf("%w: it has more than %d bytes", ErrMalformed, maxBytes)
	}
	var parsed minisign.Signature
	if err := parsed.UnmarshalText(signature); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if parsed.Algorithm != minisign.HashEdDSA {
		return "", fmt.Errorf("%w: it is over the file itself, not over its digest; sign with minisign 0.11 or newer, or with -H", ErrMalformed)
	}
	// A key's number is chosen by whoever makes the key: two of different owners can have the same.
	candidates := slices.DeleteFunc(slices.Clone(keys), func(k PublicKey) bool { return k.key.ID() != parsed.KeyID })
	if len(candidates) == 0 {
		return "", fmt.Errorf("%w: it is %s, trusted are %s", ErrUnknownKey, keyID(parsed.KeyID), keys)
	}
	digest := minisign.NewReader(file)
	if _, err := io.Copy(io.Discard, digest); err != nil {
		return "", fmt.Errorf("reading the file to verify: %w", err)
	}
	if !slices.ContainsFunc(candidates, func(k PublicKey) bool { return digest.Verify(k.key, signature) }) {
		return "", fmt.Errorf("%w (key %s)", ErrMismatch, keyID(parsed.KeyID))
	}
	return parsed.TrustedComment, nil
}
