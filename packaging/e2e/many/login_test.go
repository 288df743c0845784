package many

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/api/client"
	"pinion/api/openid/openidtest"
	"pinion/packaging/testbed"
)

// issuerPort is where the switch has the issuer of people.
const issuerPort = 5001

// testLoginOverLeaders has a person begin to log in while one host leads and end it while another does, with `pinion login` and with a browser: the key
// works at every host, and its ID token gives no second key after the next change of the leader.
func (p *pool) testLoginOverLeaders(t *testing.T) {
	idp, asked, ca := p.startIssuer(t)
	at := p.agent(t)
	p.untilDone(t, func() *testbed.Host { return p.leader(t) }, "oidc", "set", "--issuer", idp.URL, "--client-id", openidtest.ClientID, "--issuer-ca", ca)
	p.untilDone(t, func() *testbed.Host { return p.leader(t) }, "oidc", "map", "--role", "submit", "everybody")

	home := t.TempDir()
	var login errgroup.Group
	login.Go(func() error {
		_, err := p.as(at, home, "login", "--host", at.Address(), "--ca", filepath.Join(at.Dir, "pki", "ca.crt"))
		return err
	})
	browser := p.beginsWithBrowser(t, at)
	eventually(t, "the person is asked for", func() bool { return asked.Load() > 0 })
	p.replaceLeader(t)
	idp.LogsIn(openidtest.Claims{"email": "alice@example.com", "groups": "everybody"})
	must(t, login.Wait())
	idp.LogsIn(openidtest.Claims{"email": "bob@example.com", "groups": "everybody"})
	p.endsWithBrowser(t, at, browser)
	text, err := p.as(at, home, "login", "--print")
	must(t, err)
	var key struct{ AccessKeyID, SecretAccessKey string }
	must(t, json.Unmarshal([]byte(text), &key))
	person := &pool{Testbed: p.Testbed, key: accessKey{key.AccessKeyID, key.SecretAccessKey}}
	for _, h := range p.Hosts() {
		person.mustCall(t, h, "ListClusters", object{}, &object{})
	}

	token := idp.IDToken(idp.Claims(time.Now(), openidtest.Claims{"email": "alice@example.com", "groups": "everybody"}))
	logIn := func(h *testbed.Host) (status int) {
		eventually(t, h.Name+" answers to the login", func() bool {
			status, err = p.answer(h, new(rawBody), func(ctx context.Context, _ *client.Client) ([]byte, error) {
				anybody, err := client.NewAnonymous(client.Config{Socket: filepath.Join(h.Dir, "pinion.sock")})
				if err == nil {
					_, err = anybody.Login(ctx, token, nil)
				}
				return nil, err
			})
			return err == nil && status < 500
		})
		return status
	}
	first := logIn(at)
	p.replaceLeader(t)
	if again := logIn(at); first != http.StatusOK || again == http.StatusOK {
		t.Errorf("one ID token: %d, and after a change of the leader %d", first, again)
	}
	p.untilDone(t, func() *testbed.Host { return p.leader(t) }, "oidc", "rm")
}

// beginsWithBrowser begins a login as the web page does, and returns the id of it.
func (p *pool) beginsWithBrowser(t *testing.T, h *testbed.Host) (id string) {
	t.Helper()
	var begun struct{ ID string }
	p.mustCall(t, h, "login/device", object{}, &begun)
	return begun.ID
}

// endsWithBrowser asks for the ID token of such a login until the person has logged in, as the web page does, and exchanges it.
func (p *pool) endsWithBrowser(t *testing.T, h *testbed.Host, id string) {
	t.Helper()
	var token struct{ IDToken string }
	eventually(t, "the login goes on at the leader that has not begun it", func() bool {
		status, err := p.call(h, "login/device/token", object{"id": id}, &token)
		if err == nil && status != http.StatusOK && status < 500 {
			t.Fatalf("the login is over: %d", status)
		}
		return token.IDToken != ""
	})
	var key struct{ AccessKeyID string }
	p.mustCall(t, h, "login", object{"idToken": token.IDToken}, &key)
	if key.AccessKeyID == "" {
		t.Error("the login has given no key")
	}
}

// replaceLeader ends the leader, and starts its host again when another one leads.
func (p *pool) replaceLeader(t *testing.T) {
	t.Helper()
	leader := p.leader(t)
	must(t, leader.Kill(t.Context()))
	p.leader(t)
	p.start(t, leader)
	p.waitConverged(t)
}

// as runs pinion on a host as a person with a home of their own and no other login.
func (p *pool) as(h *testbed.Host, home string, args ...string) (string, error) {
	cmd := exec.Command(h.Binary(), args...)
	cmd.Env = []string{"HOME=" + home}
	var out, problem strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := h.Run(cmd); err != nil {
		return "", fmt.Errorf("pinion %v on %s: %w: %s", args, h.Name, err, problem.String())
	}
	return out.String(), nil
}

// startIssuer starts an issuer beside the pool, and counts how often it is asked whether a person has logged in. ca is a file with its
// certificate.
func (p *pool) startIssuer(t *testing.T) (idp *openidtest.Issuer, asked *atomic.Int64, ca string) {
	t.Helper()
	idp, asked, ca = openidtest.New(t), new(atomic.Int64), filepath.Join(t.TempDir(), "issuer.pem")
	listener, err := p.Listen(issuerPort)
	must(t, err)
	idp.URL = "https://" + listener.Addr().String()
	pair := selfSigned(t, net.IP(p.SwitchIP().AsSlice()))
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ReadHeaderTimeout: callTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			asked.Add(1)
		}
		idp.ServeHTTP(w, r)
	})}
	go server.ServeTLS(listener, "", "")
	t.Cleanup(func() { server.Close() })
	return idp, asked, ca
}

// selfSigned is a certificate for an address.
func selfSigned(t *testing.T, ip net.IP) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{ip}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
