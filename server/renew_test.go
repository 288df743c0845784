package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"slices"
	"testing"

	"pinion/server/admission"
	"pinion/server/peer"
	"pinion/server/pki"
)

// requestFor is a certificate request for a key, with a DNS name and an address beside those of the host.
func requestFor(t *testing.T, key *ecdsa.PrivateKey, names ...string) []byte {
	t.Helper()
	template := &x509.CertificateRequest{DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(169, 254, 169, 254)}}
	raw, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw})
}

// A host that could choose the names of its certificate could stand in for any other host, and for AWS.
func TestACertificateIsRenewedForTheKeyAndTheNamesThatTheHostJoinedWith(t *testing.T) {
	r := newRights(t)
	cert := certOf(t, r.a)
	agent := caller{r.server.where, cert}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := cert.PrivateKey.(*ecdsa.PrivateKey)
	for name, csr := range map[string][]byte{
		"another key": requestFor(t, other), "another host's key": requestFor(t, certOf(t, r.b).PrivateKey.(*ecdsa.PrivateKey)),
		"a name for many": requestFor(t, own, "*.amazonaws.com"), "too many names": requestFor(t, own, slices.Repeat([]string{"x"}, 40)...),
	} {
		if status, text := agent.post(t, peer.Peer, admission.PathRenew, csr); status == http.StatusOK {
			t.Errorf("%s: %s", name, text)
		}
	}
	status, text := agent.post(t, peer.Peer, admission.PathRenew, requestFor(t, own, "ecs.us-east-1.amazonaws.com", "host-0"))
	var given admission.JoinReply
	if err := json.Unmarshal(text, &given); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	block, _ := pem.Decode(given.Certificate)
	renewed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if of, _ := pki.HostOf(renewed); of != r.a.cfg.HostID {
		t.Errorf("it was given a certificate of host %s", of)
	}
	if names, want := pki.NamesOf(renewed), pki.NamesOf(cert.Leaf); !slices.Equal(names, want) {
		t.Errorf("it was given the names %q, it joined with %q", names, want)
	}
}
