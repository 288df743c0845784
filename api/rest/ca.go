package rest

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/spec"
)

// caView is the pool's CA: its roots, the one that signs first, and how far a rotation is.
type caView struct {
	Roots    []rootView `json:"roots"`
	Rotating bool       `json:"rotating"`         // hosts still take certificates of the root before
	Forced   bool       `json:"forced,omitempty"` // the rotation does not wait for hosts that are away
	Left     []leftView `json:"left"`             // hosts that have no certificate of the new root in use yet
}

// rootView is a root of the CA.
type rootView struct {
	Fingerprint  string    `json:"fingerprint"` // SHA-256 of the certificate
	Since        time.Time `json:"since"`       // when it was made
	Expires      time.Time `json:"expires"`
	Signs        bool      `json:"signs"`                 // certificates are of this root
	ClientsUntil time.Time `json:"clientsUntil,omitzero"` // of the root before: until when clients that know only it are served; zero: they are not
	Certificate  string    `json:"certificate"`           // PEM
}

// leftView is a host whose certificate is of the root before.
type leftView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
}

type rotateCAInput struct {
	Force bool `json:"force"` // end the root before as soon as the connected hosts are renewed: for hosts that are away, and for clients
}

// authority serves the routes about the pool's CA.
type authority struct {
	keys  KeyStore
	store Store
}

func (a authority) show(x *httpx.Exchange, res leader.Resolution) error {
	out := caView{Roots: []rootView{}, Left: []leftView{}}
	ca := res.View.CA()
	if ca == nil {
		return spec.Unavailable("the pool's CA is not recorded yet; try again in a moment")
	}
	signing, err := renderRoot(ca.Certificate)
	if err != nil {
		return err
	}
	signing.Signs, out.Rotating, out.Forced = true, ca.Overlap.Trusted, ca.Overlap.Forced
	out.Roots = append(out.Roots, signing)
	if !ca.Overlap.IsEmpty() {
		before, err := renderRoot(ca.Overlap.Previous)
		if err != nil {
			return err
		}
		if cross, err := parseCertificate(ca.Overlap.Cross); err == nil && !ca.Overlap.Withdrawn {
			before.ClientsUntil = cross.NotAfter
		}
		out.Roots = append(out.Roots, before)
	}
	if ca.Overlap.Trusted {
		for _, host := range res.View.HostsNotOn(signing.Fingerprint) {
			out.Left = append(out.Left, leftView{ID: host.ID, Name: host.Name, Connected: a.store.Connected(host.ID)})
		}
	}
	return reply(x, out)
}

func renderRoot(text []byte) (rootView, error) {
	cert, err := parseCertificate(text)
	if err != nil {
		return rootView{}, err
	}
	sum := sha256.Sum256(cert.Raw)
	return rootView{Fingerprint: hex.EncodeToString(sum[:]), Since: cert.NotBefore, Expires: cert.NotAfter, Certificate: string(text)}, nil
}

func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("the certificate of the pool's CA in the state is no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// rotate answers when the new root is recorded: show tells how far the hosts are.
func (a authority) rotate(x *httpx.Exchange, _ leader.Resolution) error {
	var in rotateCAInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if a.keys == nil {
		return NotConfigured("rotating the CA")
	}
	if err := a.keys.RotateCA(x.Context(), in.Force); err != nil {
		return err
	}
	return ok(x)
}
