// Package openidtest is an OpenID Connect issuer for tests: discovery, keys, device authorization and tokens, over HTTP on this machine. What it
// answers can be changed in every respect, as an attacker or a broken issuer would.
package openidtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ClientID is the application that the issuer makes tokens for.
const ClientID = "pinion-test"

// Claims of an ID token.
type Claims map[string]any

// Issuer is a running issuer. Its methods are safe for concurrent use.
type Issuer struct {
	URL    string
	Key    *ecdsa.PrivateKey // that signs ID tokens
	server *httptest.Server

	mu       sync.Mutex
	person   Claims                  // who logs in next
	polls    int                     // of the token endpoint since the device asked
	handlers map[string]http.Handler // in place of its own, by path

	asked atomic.Int64 // requests for keys and discovery
}

// New starts an issuer, and ends it with the test.
func New(t testing.TB) *Issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{Key: key, handlers: map[string]http.Handler{}}
	i.server = httptest.NewServer(i)
	i.URL = i.server.URL
	t.Cleanup(i.Close)
	return i
}

// Close stops the issuer; whoever still asks it is cut off.
func (i *Issuer) Close() {
	i.server.CloseClientConnections()
	i.server.Close()
}

// Answer replaces what the issuer answers at a path.
func (i *Issuer) Answer(path string, with http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers[path] = with
}

// LogsIn makes a person log in at the next device that asks, as soon as it has asked twice.
func (i *Issuer) LogsIn(who Claims) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.person, i.polls = who, 0
}

// Asked is how often the issuer was asked for its keys and its discovery document.
func (i *Issuer) Asked() int { return int(i.asked.Load()) }

// ServeHTTP answers as an issuer does.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	other := i.handlers[r.URL.Path]
	i.mu.Unlock()
	if other != nil {
		other.ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		i.asked.Add(1)
		reply(w, i.Discovery())
	case "/keys":
		i.asked.Add(1)
		reply(w, map[string]any{"keys": []any{i.publicKey("key-1")}})
	case "/device":
		reply(w, map[string]any{"device_code": "device-1", "user_code": "ABCD-EFGH", "verification_uri": i.URL + "/enter", "expires_in": 60, "interval": 1})
	case "/token":
		i.idToken(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Discovery is the discovery document.
func (i *Issuer) Discovery() map[string]any {
	return map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "token_endpoint": i.URL + "/token", "device_authorization_endpoint": i.URL + "/device",
		"authorization_endpoint": i.URL + "/authorize", "id_token_signing_alg_values_supported": []string{"ES256"},
	}
}

// idToken answers that the person has not logged in yet, and the next time with an ID token.
func (i *Issuer) idToken(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.polls++
	if r.FormValue("device_code") != "device-1" || r.FormValue("client_id") != ClientID {
		refuse(w, "invalid_grant")
		return
	}
	if i.person == nil || i.polls < 2 {
		refuse(w, "authorization_pending")
		return
	}
	reply(w, map[string]any{"access_token": "unused", "token_type": "Bearer", "id_token": i.IDToken(i.Claims(time.Now(), i.person))})
}

// Claims are those of an ID token made at that time, with some changed; nil takes one away.
func (i *Issuer) Claims(at time.Time, changed Claims) Claims {
	all := Claims{"iss": i.URL, "aud": ClientID, "sub": "subject-1", "iat": at.Unix(), "exp": at.Add(5 * time.Minute).Unix(), "jti": rand.Text()}
	for name, value := range changed {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return all
}

// IDToken signs claims as the issuer does.
func (i *Issuer) IDToken(claims Claims) string { return i.Signed("ES256", "key-1", claims) }

// Signed signs claims with an algorithm, which may be wrong, and the name of a key, which may be unknown. HS256 takes the public key for a
// secret, as a verifier does that lets the token choose.
func (i *Issuer) Signed(algorithm, keyID string, claims Claims) string {
	header, _ := json.Marshal(map[string]string{"alg": algorithm, "kid": keyID, "typ": "JWT"})
	payload, _ := json.Marshal(claims)
	signed := encode(header) + "." + encode(payload)
	sum := sha256.Sum256([]byte(signed))
	var signature []byte
	switch algorithm {
	case "ES256":
		r, s, _ := ecdsa.Sign(rand.Reader, i.Key, sum[:])
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "HS256":
		public, _ := x509.MarshalPKIXPublicKey(&i.Key.PublicKey)
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		fmt.Fprint(mac, signed)
		signature = mac.Sum(nil)
	}
	return signed + "." + encode(signature)
}

func (i *Issuer) publicKey(id string) map[string]string {
	point, _ := i.Key.PublicKey.Bytes() // 4, and the two coordinates
	return map[string]string{"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": encode(point[1:33]), "y": encode(point[33:])}
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// refuse answers with an error of OAuth 2.0.
func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"error":%q}`, why)
}

func reply(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}
