package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

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

// splitNames sorts names into what a certificate calls DNS names and IP addresses.
func splitNames(names []string) (dns []string, ips []net.IP) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			ips = append(ips, ip)
		} else {
			dns = append(dns, name)
		}
	}
	return dns, ips
}

func joinNames(dns []string, ips []net.IP) []string {
	names := slices.Clone(dns)
	for _, ip := range ips {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return names
}

// NamesOf are the DNS names and IP addresses of a certificate, sorted.
func NamesOf(cert *x509.Certificate) []string { return joinNames(cert.DNSNames, cert.IPAddresses) }

// uriOf is the name that binds a certificate to a host: pinion://host/<id>.
func uriOf(hostID string) *url.URL {
	return &url.URL{Scheme: "pinion", Host: "host", Path: "/" + hostID}
}

// HostOf is the id of the host that a certificate of the pool was issued to.
func HostOf(cert *x509.Certificate) (string, error) {
	if len(cert.URIs) != 1 || cert.URIs[0].Scheme != "pinion" || cert.URIs[0].Host != "host" {
		return "", errors.New("the certificate is not that of a Pinion host")
	}
	hostID := strings.TrimPrefix(cert.URIs[0].Path, "/")
	if hostID != cert.Subject.CommonName {
		return "", fmt.Errorf("the certificate is for host %q by one name and %q by another", hostID, cert.Subject.CommonName)
	}
	return hostID, checkHostID(hostID)
}

// checkHostID keeps what has a meaning in a URI out of a host's id.
func checkHostID(hostID string) error {
	for _, c := range hostID {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", c) {
			return fmt.Errorf("the host id %q has characters that no host id has", hostID)
		}
	}
	if hostID == "" {
		return errors.New("the host id is empty")
	}
	return nil
}

// checkConstraints refuses names that the CA may not sign for, whatever is asked of it.
func checkConstraints(ca *x509.Certificate, names []string) error {
	for _, name := range names {
		for _, domain := range ca.ExcludedDNSDomains {
			if lower := strings.ToLower(name); lower == domain || strings.HasSuffix(lower, "."+domain) {
				return fmt.Errorf("no host of a pool has the name %s: the pool's CA is not good for %s, which clients of it expect AWS to be", name, domain)
			}
		}
	}
	return nil
}
