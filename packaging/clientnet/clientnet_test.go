package clientnet

import "testing"

func TestWhatCountsAsOneAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:80":             "192.0.2.7/32",
		"[::ffff:192.0.2.7]:80":    "192.0.2.7/32",
		"[2001:db8::1]:1":          "2001:db8::/64",
		"[2001:db8::ffff:0:0:2]:9": "2001:db8::/64",
		"[2001:db8:0:1::1]:1":      "2001:db8:0:1::/64",
		"[fe80::1%eth0]:1":         "fe80::/64",
		"@":                        "invalid Prefix",
		"":                         "invalid Prefix",
		"gpu-1:80":                 "invalid Prefix",
	} {
		if got := Prefix(remote).String(); got != want {
			t.Errorf("%q counts as %s, want %s", remote, got, want)
		}
	}
}
