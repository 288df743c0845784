package logforward

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/traffic"
)

// newTLS is a receiver with a certificate that nobody trusts.
func newTLS(t *testing.T) *receiver {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	certificates := web.TLS.Certificates
	web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, true)
}

// A definition names a destination; what the host connects to is the operator's to say. Whatever a name leads to and however an address is
// written, nothing of the host itself, of its link, of a metadata service or of its virtual addresses is reached, and no socket, unless
// the operator has named it.
func TestALogGoesWhereTheOperatorAllows(t *testing.T) {
	tcp := listen(t, "tcp", "127.0.0.1:0", true)
	_, port, _ := net.SplitHostPort(tcp.address())
	socket := listen(t, "unix", filepath.Join(t.TempDir(), "log"), true)
	remote := []string{logdriver.Remote}
	dial := func(allowed []string, text string) error {
		l := logdriver.Configuration{LogDriver: logdriver.Syslog, Options: map[string]string{"syslog-address": text}}
		to, err := l.Destination()
		if err != nil {
			t.Fatal(text, err)
		}
		conn, err := newDialer(allowed, traffic.DefaultVirtualRange).dial(t.Context(), to)
		if err == nil {
			conn.Close()
		}
		return err
	}
	for _, text := range []string{
		"tcp://127.0.0.1:" + port, "tcp://127.1.2.3:" + port, "tcp://[::1]:" + port, "tcp://[::ffff:127.0.0.1]:" + port, "tcp://0.0.0.0:" + port, "tcp://[::]:" + port, "tcp://localhost:" + port,
		"tcp://LOCALHOST.:" + port, "tcp+tls://127.0.0.1:" + port, "udp://127.0.0.1:" + port, "udp://169.254.169.254:53", "tcp://169.254.169.254:80", "tcp://[fe80::1]:80", "tcp://[fd00:ec2::254]:80",
		"tcp://198.18.0.1:80", "tcp://[64:ff9b::7f00:1]:" + port, "udp://224.0.0.1:514", "udp://255.255.255.255:514", "unix://" + socket.address(), "unixgram:///run/systemd/journal/socket", "unix:///proc/self/fd/3",
	} {
		if err := dial(remote, text); err == nil || !strings.Contains(err.Error(), "pinion up --log-destination") {
			t.Errorf("%s: %v", text, err)
		}
	}
	own, err := ownAddresses()
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range own {
		if ip.Is4() { // as NAT64 and 6to4 write it
			four := ip.As4()
			for _, text := range []string{fmt.Sprintf("udp://[64:ff9b::%s]:514", ip), fmt.Sprintf("udp://[2002:%02x%02x:%02x%02x::1]:514", four[0], four[1], four[2], four[3]), fmt.Sprintf("udp://%s:514", ip)} {
				if err := dial(remote, text); err == nil || !strings.Contains(err.Error(), "pinion up --log-destination") {
					t.Errorf("this host by %s: %v", text, err)
				}
			}
		}
		if err := dial(remote, "tcp://"+netip.AddrPortFrom(ip, 7400).String()); !ip.Is6() && (err == nil || !strings.Contains(err.Error(), "pinion up --log-destination")) {
			t.Errorf("this host's own %v: %v", ip, err)
		}
	}
	for text, allowed := range map[string]string{"tcp://127.0.0.1:" + port: "tcp://127.0.0.1:" + port, "unix://" + socket.address(): "unix://" + socket.address()} {
		if err := dial([]string{allowed}, text); err != nil {
			t.Errorf("%s, which the operator has named: %v", text, err)
		}
		if err := dial([]string{"tcp://127.0.0.1:1"}, text); err == nil {
			t.Errorf("%s, and the operator has named another", text)
		}
	}
	if err := dial(nil, "tcp://192.0.2.1:514"); err == nil || !strings.Contains(err.Error(), "pinion up --log-destination") {
		t.Errorf("another machine, and the operator allows none: %v", err)
	}
	eventually(t, "the two connections that are allowed", func() bool { return tcp.connections()+socket.connections() >= 2 })
	if n := tcp.connections() + socket.connections(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// However many containers log to a destination that is away, it is tried now and then.
func TestADestinationThatIsAwayIsTriedNowAndThen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "tcp://" + l.Addr().String()
	l.Close()
	to := logdriver.Destination{Network: "tcp", Where: strings.TrimPrefix(address, "tcp://")}
	d := newDialer([]string{address}, traffic.DefaultVirtualRange)
	begun := time.Now()
	var first error
	for i := range 1000 {
		_, err := d.dial(t.Context(), to)
		if err == nil {
			t.Fatal("it is there")
		}
		if i == 0 {
			first = err
		} else if err != first && time.Since(begun) < breakerDelays.Min {
			t.Fatal("it is tried each time")
		}
	}
}

func TestWhatIsForAllMachinesOfANetworkReachesThisOne(t *testing.T) {
	for text, want := range map[string]string{"10.1.2.3/24": "[10.1.2.0 10.1.2.255]", "172.30.255.1/20": "[172.30.240.0 172.30.255.255]", "192.0.2.1/31": "[]", "192.0.2.1/32": "[]", "fd00::1/64": "[]"} {
		if got := fmt.Sprint(broadcasts(netip.MustParsePrefix(text))); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
