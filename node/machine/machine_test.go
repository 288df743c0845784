package machine

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMemoryIsReadInMiB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	os.WriteFile(path, []byte("MemTotal:       25165824 kB\nMemFree: 1 kB\n"), 0o600)
	if got, err := totalMemoryMiB(path); err != nil || got != 24576 {
		t.Errorf("got %d MiB, %v; want 24576", got, err)
	}
}

func TestThisMachineHasSomethingToGive(t *testing.T) {
	r, err := Measure()
	if err != nil || r.CPU < UnitsPerCore || r.MemoryMiB <= 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestAddressesOfAListener(t *testing.T) {
	for name, c := range map[string]struct {
		listening         net.TCPAddr
		advertise         string
		local, advertised string
	}{
		"one address":          {net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7401}, "", "127.0.0.1:7401", "127.0.0.1:7401"},
		"every address, named": {net.TCPAddr{IP: net.IPv6unspecified, Port: 7400}, "gpu1.example.com:443", "127.0.0.1:7400", "gpu1.example.com:443"},
		"an IPv6 address":      {net.TCPAddr{IP: net.IPv6loopback, Port: 7400}, "", "[::1]:7400", "[::1]:7400"},
	} {
		t.Run(name, func(t *testing.T) {
			a := NewAddresses(&c.listening, c.advertise)
			if a.Local != c.local || a.Advertised != c.advertised || a.Port != c.listening.Port {
				t.Errorf("got %+v", a)
			}
			for _, address := range []string{c.local, c.advertised} {
				if host, _, _ := net.SplitHostPort(address); !slices.Contains(a.Names, host) {
					t.Errorf("a certificate for %v is not good for %s", a.Names, host)
				}
			}
		})
	}
}
