package network

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/hostport"
	"pinion/raftfsm/spec"
)

func TestPublishedPorts(t *testing.T) {
	b := openWithFirewall(t)
	a := attach(t, b, "task.web", spec.PortMapping{ContainerPort: 80, Protocol: "tcp"}, spec.PortMapping{ContainerPort: 81})
	if len(a.Bindings) != 2 || a.Bindings[0].HostPort == 0 || a.Bindings[1].Protocol != "tcp" || a.Bindings[0].BindIP != "0.0.0.0" {
		t.Fatalf("bindings are %+v", a.Bindings)
	}
	serve(t, a.Namespace, "web", 80)
	port := a.Bindings[0].HostPort
	fromHere := fmt.Sprintf("%s:%d", hostAddress(t), port)
	wantHello(t, fmt.Sprintf("127.0.0.1:%d", port), "web")
	wantHello(t, fromHere, "web")

	neighbour := attach(t, b, "task.neighbour")
	inNamespace(t, neighbour.Namespace, func() error {
		wantHello(t, fromHere, "web")
		return nil
	})
	inNamespace(t, a.Namespace, func() error {
		wantHello(t, fromHere, "web") // by way of the host to itself
		return nil
	})

	detach(t, b, "task.web")
	if got, err := fetch(fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Errorf("after Detach the port still answers %q", got)
	}
}

func TestARangeOfPortsIsPublished(t *testing.T) {
	b := openWithFirewall(t)
	a := attach(t, b, "task.web", spec.PortMapping{ContainerPortRange: "8000-8009", Protocol: "tcp"}, spec.PortMapping{ContainerPort: 80, Protocol: "tcp"})
	if len(a.Bindings) != 2 || a.Bindings[0].ContainerPortRange != "8000-8009" || a.Bindings[0].ContainerPort != 0 || a.Bindings[0].HostPort != 0 || a.Bindings[1].HostPort == 0 {
		t.Fatalf("bindings are %+v", a.Bindings)
	}
	host, err := hostport.ParseRange(a.Bindings[0].HostPortRange)
	if err != nil || host.Size() != 10 {
		t.Fatalf("on the host they are %v: %v", host, err)
	}
	for _, port := range []int{0, 9} {
		serve(t, a.Namespace, fmt.Sprint("port ", port), 8000+port)
		wantHello(t, fmt.Sprintf("127.0.0.1:%d", host.First+port), fmt.Sprint("port ", port))
	}
	b.ports.releaseAll() // as the end of the process does
	again := reopen(t, b.dir)
	if after := attach(t, again, "task.web"); fmt.Sprint(after) != fmt.Sprint(a) {
		t.Errorf("before a restart %+v, after it %+v", a, after)
	}
	for port := host.First; port <= host.Last; port++ {
		if _, err := again.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: "task.other", Ports: []spec.PortMapping{{ContainerPort: 80, HostPort: port, Protocol: "tcp"}}}); err == nil {
			t.Errorf("port %d of the range was given to another container", port)
		}
	}
	detach(t, again, "task.web")
	if len(again.ports.held) != 0 {
		t.Errorf("ports %v are still reserved", again.ports.held)
	}
	if got, err := fetch(fmt.Sprintf("127.0.0.1:%d", host.First)); err == nil {
		t.Errorf("after Detach a port still answers %q", got)
	}
}

func TestARangeIsLookedForAroundWhatIsTaken(t *testing.T) {
	b := open(t)
	first, err := b.ports.reserveRange("tcp", 100)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.ports.reserveRange("tcp", 100)
	if err != nil || second < first+100 && first < second+100 || len(b.ports.held) != 200 {
		t.Errorf("ranges begin at %d and %d, %d ports: %v", first, second, len(b.ports.held), err)
	}
	b.ports.releaseAll()
}

// hostAddress is an address of this machine that is not on a loopback.
func hostAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr().String()
		}
	}
	t.Skip("this machine has no address but its loopback's")
	return ""
}

func TestPortsThatAreTakenAreRefused(t *testing.T) {
	b := openWithFirewall(t)
	listener, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	if _, err := b.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: "task.web", Ports: []spec.PortMapping{{ContainerPort: 80, HostPort: taken, Protocol: "tcp"}}}); err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Errorf("a port that a program listens on: %v", err)
	}
	free := attach(t, b, "task.first", spec.PortMapping{ContainerPort: 80, Protocol: "tcp"}).Bindings[0].HostPort
	if _, err := b.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: "task.second", Ports: []spec.PortMapping{{ContainerPort: 80, HostPort: free, Protocol: "tcp"}}}); err == nil || !strings.Contains(err.Error(), "published by another container") {
		t.Errorf("a port that a container has published: %v", err)
	}
	wantAttached(t, b, "task.first")
}

func TestWithoutIptablesItIsSaid(t *testing.T) {
	b := open(t)
	b.firewall = nil
	if !strings.Contains(b.Problem(), "install the iptables package") {
		t.Errorf("problem is %q", b.Problem())
	}
	_, err := b.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: "task.web", Ports: []spec.PortMapping{{ContainerPort: 80}}})
	if err == nil || !strings.Contains(err.Error(), "iptables is missing") {
		t.Errorf("publishing a port: %v", err)
	}
	attach(t, b, "task.plain")
	wantAttached(t, b, "task.plain")
}
