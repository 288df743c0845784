package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// ErrNoCertificate is the error of a host without a valid certificate of its pool: it has to join, or join again, with a token.
var ErrNoCertificate = errors.New("this host has no valid certificate of a pool: join one with `pinion up --join ADDR --token-file FILE`")

// ErrOtherPool refuses a server whose certificates do not prove that it belongs to the token's pool.
var ErrOtherPool = errors.New("the server did not prove to be of the pool that the token is for, nothing was sent to it")

// minFingerprintSize is how many bytes of an authority's fingerprint nobody can find a second certificate for.
const minFingerprintSize = 16

// Verify verifies the certificates that a peer showed, its own first, and returns its host id. usage is ServerAuth for the called side,
// ClientAuth for the calling side. Errors wrap ErrOtherCA when no root that this host trusts has signed them.
func (id *Identity) Verify(shown []*x509.Certificate, usage x509.ExtKeyUsage) (hostID string, err error) {
	id.mu.Lock()
	trusted := id.roots.trusted()
	id.mu.Unlock()
	if len(trusted) == 0 {
		return "", ErrNoCertificate
	}
	if err := verifyCert(shown[0], append(trusted, crossed(shown[1:], trusted[0])...), usage, id.now()); err != nil {
		return "", err
	}
	return HostOf(shown[0])
}

// crossed are the cross certificates among those shown that a root has signed: their root is as good as it.
func crossed(shown []*x509.Certificate, by *x509.Certificate) (cross []*x509.Certificate) {
	for _, cert := range shown[:min(len(shown), maxShown)] {
		if isIssuedBy(cert, by) && !cert.Equal(by) && isSignedCA(cert, by) {
			cross = append(cross, cert)
		}
	}
	return cross
}

// maxShown is how many certificates are looked at behind that of a host.
const maxShown = 4

func verifyCert(cert *x509.Certificate, trusted []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) error {
	roots := x509.NewCertPool()
	for _, ca := range trusted {
		roots.AddCert(ca)
	}
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return fmt.Errorf("%w (%w)", ErrOtherCA, err)
	}
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return fmt.Errorf("%s: %w", describeValidity(cert, now), err)
	}
	return err
}

// describeValidity says by how much a certificate is not valid at now: mostly one of two clocks is off.
func describeValidity(cert *x509.Certificate, now time.Time) string {
	by, what := cert.NotBefore.Sub(now), "is not valid yet"
	if by < 0 {
		by, what = now.Sub(cert.NotAfter), "has expired"
	}
	return fmt.Sprintf("by the clock of this machine, which says %s, the certificate of the other host %s, by %v: one of the two clocks is off by that or more, or that host was off for too long",
		now.UTC().Format(time.RFC3339), what, by.Round(time.Second))
}

// VerifyFingerprint checks the certificates that an unknown server showed, leaf first, for a host that knows nothing but
// the beginning of the SHA-256 of the authority's certificate (16 bytes or more). It returns the server's host id;
// errors wrap ErrOtherPool.
func VerifyFingerprint(shown []*x509.Certificate, fingerprint []byte, now time.Time) (hostID string, err error) {
	if len(fingerprint) < minFingerprintSize || len(fingerprint) > sha256.Size {
		return "", fmt.Errorf("the authority's fingerprint has %d bytes, not %d to %d", len(fingerprint), minFingerprintSize, sha256.Size)
	}
	for i, cert := range shown {
		sum := sha256.Sum256(cert.Raw)
		if i == 0 || !bytes.HasPrefix(sum[:], fingerprint) {
			continue
		}
		err := verifyCert(shown[0], append(crossed(shown[1:], cert), cert), x509.ExtKeyUsageServerAuth, now)
		if err == nil {
			hostID, err = HostOf(shown[0])
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrOtherPool, err)
		}
		return hostID, nil
	}
	return "", fmt.Errorf("%w: it has another authority; the token is of another pool or from before `pinion ca rotate` (make another with `pinion token`), or somebody is in between", ErrOtherPool)
}
