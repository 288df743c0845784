package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"slices"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	hostLife      = 30 * 24 * time.Hour
	// clockSkew is how far behind another machine's clock may be and still take a new certificate.
	clockSkew = time.Hour
)

// openAuthority reads the pool's authority, or makes it.
func openAuthority(path string, now time.Time) (pair, error) {
	ca, err := readPair(path)
	if os.IsNotExist(err) {
		if ca, err = newAuthority(now); err != nil {
			return pair{}, err
		}
		return ca, ca.write(path)
	}
	if err != nil {
		return pair{}, fmt.Errorf("the certificate authority of this pool cannot be used: %w; put back a backup, or delete the file to make a new authority that every client has to trust anew", err)
	}
	if now.After(ca.cert.NotAfter) {
		return pair{}, fmt.Errorf("the certificate authority %s expired on %s: check this machine's clock, or delete the file to make a new authority that every client has to trust anew", path, ca.cert.NotAfter.Format(time.DateOnly))
	}
	return ca, nil
}

func newAuthority(now time.Time) (pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Pinion pool CA"},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	return sign(template, nil)
}

// issue makes a certificate for this host, as a server and as a client of other hosts.
func issue(ca pair, host string, names []string, now time.Time) (pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: host},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    now.Add(hostLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(ca.cert.NotAfter) {
		template.NotAfter = ca.cert.NotAfter
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	own, err := sign(template, &ca)
	if err != nil {
		return pair{}, fmt.Errorf("issue a certificate for %q: %w", names, err)
	}
	return own, nil
}

// sign makes a key and a certificate for it, signed by the authority, or by itself when there is none.
func sign(template *x509.Certificate, by *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, err
	}
	if by == nil {
		by = &pair{cert: template, key: key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, by.cert, &key.PublicKey, by.key)
	if err != nil {
		return pair{}, err
	}
	cert, err := x509.ParseCertificate(raw)
	return pair{cert: cert, key: key}, err
}

// renewAt lies between 50 and 80 % of the certificate's life, for each one at another point, so that the hosts of a
// pool do not all renew at once.
func renewAt(cert *x509.Certificate) time.Time {
	life := cert.NotAfter.Sub(cert.NotBefore)
	spread := time.Duration(new(big.Int).Mod(cert.SerialNumber, big.NewInt(1000)).Int64())
	return cert.NotBefore.Add(life/2 + life*3/10*spread/1000)
}

// serves reports whether the certificate can be shown as it is.
func serves(cert, ca *x509.Certificate, names []string, now time.Time) bool {
	if now.Before(cert.NotBefore) || !now.Before(renewAt(cert)) || cert.CheckSignatureFrom(ca) != nil {
		return false
	}
	return slices.Equal(names, namesOf(cert))
}

func namesOf(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}

// withLocal adds the names that every host has, and puts all of them in one form and order.
func withLocal(names []string) []string {
	all := []string{"localhost", "pinion", "127.0.0.1", "::1"}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			name = ip.String()
		}
		if name != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
