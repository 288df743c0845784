package proxy

import (
	"errors"
	"testing"
)

// A host names the address of its targets: it cannot turn the proxies of others to what only their own programs may reach.
func TestATargetIsNoAddressOfTheProxysOwnHost(t *testing.T) {
	const refused, allowed = false, true
	for advertised, targets := range map[string]map[string]bool{
		"10.0.0.7:7400": {
			"10.0.0.8:80": allowed, "[fd00::8]:80": allowed, "127.0.0.1:7400": refused, "127.255.0.9:80": refused, "[::1]:80": refused,
			"[::ffff:127.0.0.1]:80": refused, "169.254.169.254:80": refused, "[fe80::1%eth0]:80": refused, "0.0.0.0:80": refused, "[::]:80": refused,
			"224.0.0.1:80": refused, "not an address": refused,
		},
		"gpu-7:7400":     {"10.0.0.8:80": allowed, "127.0.0.1:80": refused},
		"127.0.0.1:7400": {"127.0.0.2:80": allowed, "[::1]:80": allowed, "169.254.169.254:80": refused},
		"localhost:7400": {"127.0.0.1:80": allowed},
		"[::1]:7400":     {"127.0.0.1:80": allowed, "0.0.0.0:80": refused},
	} {
		d := newTargetDialer(advertised)
		for target, want := range targets {
			if err := d.check(target); (err == nil) != want {
				t.Errorf("a host at %s connects to %s: %v", advertised, target, err)
			}
		}
	}
}

// A name is looked at when it is resolved, not before.
func TestANameOfATargetIsNoAddressOfTheProxysOwnHost(t *testing.T) {
	_, err := newTargetDialer("10.0.0.7:7400").dial(t.Context(), "localhost:9")
	if !errors.Is(err, errOwnNetwork) {
		t.Errorf("%v", err)
	}
}
