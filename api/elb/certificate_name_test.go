package elb

import "testing"

func TestCertificatesAreNamedByTheEndOfTheirARN(t *testing.T) {
	for arn, want := range map[string]string{
		"arn:aws:acm:local:123456789012:certificate/web":                  "web",
		"arn:aws:acm:local:123456789012:certificate/acme/www.example.org": "acme/www.example.org",
		"web": "web", "acme/www.example.org": "acme/www.example.org",
		"arn:aws:acm:local:123456789012:thing/web": "", "../web": "", "a/b": "", "acme/": "", "acme/localhost": "", "acme/WWW.example.org": "",
		"acme/www.example.org/x": "", "acme/*.example.org": "", "acme/.example.org": "",
	} {
		if got, ok := nameOfCertificate(arn); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t", arn, got, ok)
		}
	}
}
