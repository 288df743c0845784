package images

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever name or redirect leads there, no pull reads what a cloud tells only this machine.
func TestNoPullConnectsToAMetadataAddress(t *testing.T) {
	for address, refused := range map[string]bool{
		"169.254.169.254:80": true, "169.254.170.2:80": true, "[::ffff:169.254.169.254]:80": true, "[fe80::1%eth0]:443": true, "[fd00:ec2::254]:80": true, "no address": true,
		"127.0.0.1:5000": false, "10.0.0.7:443": false, "[fd00::7]:443": false, "[2001:db8::1]:443": false, "203.0.113.9:443": false,
	} {
		if err := refuseMetadata("tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAnAnswerWithoutTLSIsRecognized(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err := http.Get("https://" + strings.TrimPrefix(plain.URL, "http://"))
	if !isPlainHTTP(err) {
		t.Errorf("%v", err)
	}
	plain.Close()
	if _, err := http.Get(plain.URL); err == nil || isPlainHTTP(err) {
		t.Errorf("nobody there: %v", err)
	}
}
