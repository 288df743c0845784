package peer

import (
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"pinion/server/pki"
)

// prefix is what a token says of the authority.
func prefix(t *testing.T, id *pki.Identity) []byte {
	t.Helper()
	sum, err := hex.DecodeString(id.Fingerprint())
	if err != nil || len(sum) != 32 {
		t.Fatal(len(sum), err)
	}
	return sum[:16]
}

func TestAHostJoinsThePoolOfItsToken(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	serve(t, port.Join(), func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		io.WriteString(w, r.Proto+" "+HostID(r.Context())+" "+string(body))
	})
	client := JoinClient(prefix(t, pool.first), nil, nil)
	defer client.CloseIdleConnections()
	for body, want := range map[string]string{"token": "HTTP/2.0  token", strings.Repeat("x", maxJoinBody+1): "http: request body too large\n"} {
		response, err := client.Post("https://"+port.Addr().String()+"/join", "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNoByteOfATokenReachesAServerThatIsNotOfItsPool(t *testing.T) {
	pool, elsewhere := newPool(t), newPool(t)
	real, foreign := certificate(t, pool.first), certificate(t, elsewhere.first)
	copied := selfSigned(t, real.Leaf)
	servers := map[string]*tls.Certificate{
		"another pool":                        foreign,
		"no authority behind":                 {Certificate: real.Certificate[:1], PrivateKey: real.PrivateKey},
		"the pool's authority behind its own": {Certificate: [][]byte{foreign.Certificate[0], real.Certificate[1]}, PrivateKey: foreign.PrivateKey},
		"a copy under its own signature":      {Certificate: [][]byte{copied.Certificate[0], real.Certificate[1]}, PrivateKey: copied.PrivateKey},
		"the authority as a host":             {Certificate: [][]byte{real.Certificate[1], real.Certificate[1]}, PrivateKey: foreign.PrivateKey},
		"an expired certificate":              {Certificate: append(pool.expired("host-1").Certificate, real.Certificate[1]), PrivateKey: foreign.PrivateKey},
	}
	for name, cert := range servers {
		t.Run(name, func(t *testing.T) {
			if err := sendJoinToken(t, cert, prefix(t, pool.first)); !errors.Is(err, ErrOtherPool) {
				t.Errorf("the reason is not given: %v", err)
			}
		})
	}
	t.Run("a real host's without its key", func(t *testing.T) {
		_ = sendJoinToken(t, &tls.Certificate{Certificate: real.Certificate, PrivateKey: foreign.PrivateKey}, prefix(t, pool.first))
	})
}

// sendJoinToken tries to join at a server with this certificate, and fails the test when anything arrives there.
func sendJoinToken(t *testing.T, cert *tls.Certificate, fingerprint []byte) error {
	t.Helper()
	address, heard := recordingServer(t, cert)
	response, err := JoinClient(fingerprint, nil, nil).Post("https://"+address+"/join", "text/plain", strings.NewReader("pinion1.the-secret"))
	if err == nil {
		response.Body.Close()
		t.Fatal("joined")
	}
	if got := <-heard; got != "" {
		t.Errorf("the server heard %q", got)
	}
	return err
}

// recordingServer is a server of anybody's that says yes to all and tells what one caller sent to it after the handshake.
func recordingServer(t *testing.T, cert *tls.Certificate) (address string, heard <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	told := make(chan string, 1)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			return
		}
		defer raw.Close()
		got, _ := io.ReadAll(tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{Join}}))
		told <- string(got)
	}()
	return l.Addr().String(), told
}

func TestAFingerprintThatIsTooShortIsRefused(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	serve(t, port.Join(), func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") })
	for _, n := range []int{0, 15} {
		if _, err := JoinClient(prefix(t, pool.first)[:n], nil, nil).Get("https://" + port.Addr().String()); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
}
