package openid

import (
	"net/http"
	"testing"

	"pinion/raftfsm/issuer"
)

// What an issuer elsewhere names is never of this machine or of its link, whatever the name resolves to.
func TestAnIssuerElsewhereNamesNoAddressOfThisMachine(t *testing.T) {
	for address, fine := range map[string]struct{ elsewhere, here bool }{
		"10.1.2.3:443":             {true, true},
		"[2001:db8::1]:443":        {true, true},
		"127.0.0.1:443":            {false, true},
		"[::1]:443":                {false, true},
		"[::ffff:127.0.0.1]:443":   {false, true},
		"169.254.169.254:80":       {false, false},
		"[fe80::1]:443":            {false, false},
		"[::ffff:169.254.1.1]:443": {false, false},
		"0.0.0.0:443":              {false, false},
		"224.0.0.1:443":            {false, false},
	} {
		if err := checkAddress(address, false); (err == nil) != fine.elsewhere {
			t.Errorf("%s, of an issuer elsewhere: %v", address, err)
		}
		if err := checkAddress(address, true); (err == nil) != fine.here {
			t.Errorf("%s, of an issuer here: %v", address, err)
		}
	}
	for url, from := range map[string]string{
		"http://127.0.0.1:1/keys": "https://idp.example.com", "http://idp.example.com/keys": "https://idp.example.com", "file:///etc/passwd": "https://idp.example.com",
		"http://idp.example.org/keys": "http://127.0.0.1:1",
	} {
		client, err := newClient(&issuer.Issuer{URL: from})
		if err != nil || client.Timeout != timeout {
			t.Fatal(err, client)
		}
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if _, err := client.Transport.(bounded).RoundTrip(request); err == nil {
			t.Errorf("%s is asked for %s", url, from)
		}
	}
}
