package network

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// A container that sends packets for 127.0.0.1 over the bridge, which takes NET_RAW alone, does not reach what listens on the host's
// loopback; published ports stay reachable there.
func TestAContainerDoesNotReachTheHostsLoopback(t *testing.T) {
	b := openWithFirewall(t)
	private, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer private.Close()
	go func() {
		for {
			c, err := private.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	web := attach(t, b, "task.web", spec.PortMapping{ContainerPort: 80, Protocol: "tcp"})
	serve(t, web.Namespace, "web", 80)
	attacker := attach(t, b, "task.attacker")
	inNamespace(t, attacker.Namespace, func() error {
		// A route does for all packets what a raw socket does for each: 127.0.0.1 is a host behind the gateway.
		out, err := exec.Command("sh", "-ec", `gw=$(ip route | sed -n 's/default via \([^ ]*\).*/\1/p')
			ip addr flush dev lo; echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet; ip route add 127.0.0.1 via $gw dev eth0`).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		dialer := net.Dialer{Timeout: 2 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(attacker.Address)}}
		if c, err := dialer.Dial("tcp4", private.Addr().String()); err == nil {
			c.Close()
			t.Error("the host's loopback answers a container")
		}
		return nil
	})
	wantHello(t, fmt.Sprintf("127.0.0.1:%d", web.Bindings[0].HostPort), "web")
}
