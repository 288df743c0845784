// Package sigv4 verifies AWS Signature Version 4 on incoming requests.
//
// It does not parse a canonical request, it signs again: a fresh request carries only the headers that the client says it
// signed, AWS's own signer signs it with the key's secret, and the two signatures are compared. In addition the signature must
// cover the host, the date, the target and the body.
package sigv4

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pinion/api/wire"
)

// Types of the errors that Verify returns, all *wire.Error.
const (
	MissingAuthenticationToken = "MissingAuthenticationTokenException"
	IncompleteSignature        = "IncompleteSignatureException"
	UnrecognizedClient         = "UnrecognizedClientException"
	InvalidSignature           = "InvalidSignatureException"
)

// Skew is how far the client's clock may be off.
const Skew = 5 * time.Minute

// Identity is the access key that signed a request, the region in its credential scope, and the signature: 64 hex digits
// that no other request has.
type Identity struct{ KeyID, Region, Signature string }

// Verifier verifies requests for one service. It is safe for concurrent use.
type Verifier struct {
	Service string           // the service in the credential scope, "ecs"
	Now     func() time.Time // this machine's clock
	Signers *SignerCache     // reuses derived signing keys; nil: each request derives its own
}

// CheckForm checks the form of a request's signature alone: that there is one that Verify can read. It needs neither the body
// nor a key.
func CheckForm(r *http.Request) error {
	_, err := parse(r)
	return err
}

// Verify checks that the body and the deciding parts of r were signed, recently, with the secret that lookup returns for the
// key. Otherwise it returns a *wire.Error, which tells nothing that the client did not send.
func (v Verifier) Verify(r *http.Request, body []byte, lookup func(keyID string) (secret string, known bool)) (Identity, error) {
	claim, err := parse(r)
	if err != nil {
		return Identity{}, err
	}
	hash := bodyHash(r, body)
	if !isHash(hash) {
		return Identity{}, wire.Errorf(InvalidSignature, "'x-amz-content-sha256' must be the SHA-256 of the body, which the signature covers.")
	}
	if err := v.checkScope(claim); err != nil {
		return Identity{}, err
	}
	if err := v.checkDate(claim.at); err != nil {
		return Identity{}, err
	}
	if err := checkCoverage(r, claim.signedHeaders, hash); err != nil {
		return Identity{}, err
	}
	secret, known := lookup(claim.keyID)
	if !known {
		return Identity{}, wire.Errorf(UnrecognizedClient, "The security token included in the request is invalid: this pool has no access key with that id. `pinion env` on a host prints one.")
	}
	scope := credentialScope{secret, claim.date, claim.region, claim.service}
	signer := v.Signers.get(scope)
	expected, err := sign(signer, r, body, hash, claim, secret)
	if err != nil {
		return Identity{}, wire.Errorf(InvalidSignature, "The request cannot be signed again to compare: %v.", err)
	}
	// The list of headers is compared too: the signer leaves out of it what the request does not have.
	if subtle.ConstantTimeCompare([]byte(expected), []byte(claim.proof())) != 1 {
		return Identity{}, wire.Errorf(InvalidSignature, "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	}
	v.Signers.put(scope, signer)
	return Identity{KeyID: claim.keyID, Region: claim.region, Signature: claim.signature}, nil
}

// isRegion accepts the possible names of an AWS region: at most 32 lower-case letters, digits and hyphens, no hyphen first.
func isRegion(name string) bool {
	if name == "" || len(name) > 32 || name[0] == '-' {
		return false
	}
	for _, letter := range []byte(name) {
		if letter != '-' && (letter < 'a' || letter > 'z') && (letter < '0' || letter > '9') {
			return false
		}
	}
	return true
}

func (v Verifier) checkScope(claim authorization) error {
	switch {
	case claim.service != v.Service:
		return wire.Errorf(InvalidSignature, "Credential should be scoped to correct service: '%s'.", v.Service)
	case !isRegion(claim.region):
		return wire.Errorf(InvalidSignature, "Credential should be scoped to a region, such as us-east-1.")
	case claim.date != claim.day:
		return wire.Errorf(InvalidSignature, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s'.", claim.date, claim.day)
	}
	return nil
}

// checkDate refuses a date beyond Skew. The error shows both clocks, so that people see which one is wrong.
func (v Verifier) checkDate(at time.Time) error {
	now := v.Now().UTC()
	oldest, newest := now.Add(-Skew), now.Add(Skew)
	signed, here := utc(at), utc(now)
	switch {
	case at.Before(oldest):
		return wire.Errorf(InvalidSignature, "Signature expired: %s is now earlier than %s (%s - 5 min.). The request was signed at %s by your clock, it is %s by this host's: set the clock that is wrong.", signed, utc(oldest), here, signed, here)
	case at.After(newest):
		return wire.Errorf(InvalidSignature, "Signature not yet current: %s is still later than %s (%s + 5 min.). The request was signed at %s by your clock, it is %s by this host's: set the clock that is wrong.", signed, utc(newest), here, signed, here)
	}
	return nil
}

// utc is a time that prints in the format of X-Amz-Date.
type utc time.Time

func (t utc) String() string { return time.Time(t).Format(dateFormat) }

// checkCoverage demands that the signature covers what decides about the request. An unsigned header could have been added on
// the way.
func checkCoverage(r *http.Request, signed []string, hash string) error {
	demanded := []string{"host", "x-amz-date"}
	if r.Header.Get("X-Amz-Target") != "" {
		demanded = append(demanded, "x-amz-target")
	}
	for _, name := range demanded {
		if !slices.Contains(signed, name) {
			return wire.Errorf(InvalidSignature, "'%s' must be a 'SignedHeader' in the AWS Authorization.", name)
		}
	}
	claimed := r.Header.Get("X-Amz-Content-Sha256")
	if strings.HasPrefix(claimed, "UNSIGNED") || strings.HasPrefix(claimed, "STREAMING") {
		return wire.Errorf(InvalidSignature, "The signature must cover the body: %s is not accepted.", claimed)
	}
	if claimed != "" && !strings.EqualFold(claimed, hash) {
		return wire.Errorf(InvalidSignature, "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	return nil
}

// sign makes the list of headers and the signature that the holder of the secret would have made.
func sign(signer *v4.Signer, r *http.Request, body []byte, hash string, claim authorization, secret string) (string, error) {
	// Without a scheme the signer leaves the port in the host as the client wrote it.
	fresh := &http.Request{
		Method: r.Method,
		Host:   r.Host,
		URL:    &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
		Header: make(http.Header, len(claim.signedHeaders)+1),
	}
	for _, name := range claim.signedHeaders {
		key := http.CanonicalHeaderKey(name)
		if values := headerValues(r, key); len(values) > 0 {
			fresh.Header[headerKey(name, key)] = values
		}
		if name == "content-length" {
			fresh.ContentLength = bodyLength(r, body)
		}
	}
	key := aws.Credentials{AccessKeyID: claim.keyID, SecretAccessKey: secret}
	if err := signer.SignHTTP(context.Background(), key, fresh, hash, claim.service, claim.region, claim.at); err != nil {
		return "", err
	}
	_, proof, _ := strings.Cut(fresh.Header.Get("Authorization"), ", SignedHeaders=")
	return proof, nil
}

// headerValues are the values of a header as the client sent them. "Expect: 100-continue" is between two ends of a connection:
// HTTP/2 takes it off on the way in, and it is the only value that a server lets pass.
func headerValues(r *http.Request, key string) []string {
	values := slices.Clone(r.Header[key]) // the signer writes the date into what it is given
	if key == "Expect" && len(values) == 0 {
		return []string{"100-continue"}
	}
	return values
}

// unsignedByDefault are the headers that AWS's signer never signs, since proxies change them. Some clients sign them all the same
// (the SDK for Java 1 its User-Agent).
var unsignedByDefault = []string{"user-agent", "x-amzn-trace-id", "expect"}

// headerKey is the key of a header in the request that is signed again. The signer knows what it leaves out by the usual
// spelling alone, and writes every name in lower case; so a name that is in lower case already is signed too.
func headerKey(name, key string) string {
	if slices.Contains(unsignedByDefault, name) {
		return name
	}
	return key
}
