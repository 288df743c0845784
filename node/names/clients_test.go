package names

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/miekg/dns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	hostnetwork "pinion/node/network"
	"pinion/node/network/networktest"
	"pinion/node/runtime"
)

// ownNetwork runs a test again in a process that has a network of its own, as a machine has. It returns the directory of the CNI plugins there, and
// nothing in the process that has waited for it.
func ownNetwork(t *testing.T) (cni string) {
	t.Helper()
	const inside = "PINION_TEST_CNI"
	if cni := os.Getenv(inside); cni != "" {
		if _, err := up(netlink.LinkByName, netlink.LinkSetUp, "lo"); err != nil {
			t.Fatal(err)
		}
		return cni
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
	again.Env = append(os.Environ(), inside+"="+networktest.Plugins(t))
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return ""
}

// dialFrom connects from a container, or from the host when its namespace is empty.
func dialFrom(t *testing.T, namespace, protocol, address string) net.Conn {
	t.Helper()
	var conn net.Conn
	err := onThread(func() (err error) {
		if namespace != "" {
			file, err := os.Open(namespace)
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
		}
		conn, err = net.Dial(protocol, address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// machine is a host that has names, and two containers in the mode bridge.
type machine struct {
	*Names
	one, two runtime.Attachment
	arrived  chan struct{} // a question that the resolver of the host does not answer
}

func newMachine(t *testing.T, cni string) *machine {
	t.Helper()
	quiet, dir := slog.New(slog.DiscardHandler), filepath.Join(t.TempDir(), "network")
	host, err := hostnetwork.OpenHost(hostnetwork.Config{CNI: cni, Dir: dir, HostID: "me", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(host.Close(), hostnetwork.Destroy(context.Background(), cni, dir)); err != nil {
			t.Error(err)
		}
	})
	m := &machine{arrived: make(chan struct{}, maxForwarded)}
	if m.Names, err = New(Config{Log: quiet}); err != nil {
		t.Fatal(err)
	}
	if err := host.OnSubnet(m.Answer); err != nil {
		t.Fatal(err)
	}
	m.table.Store(newTable(withTwoNames(), m.network, ""))
	release := make(chan struct{})
	_, port, _ := net.SplitHostPort(forwarder(t, func(w dns.ResponseWriter, request *dns.Msg) {
		if strings.HasPrefix(request.Question[0].Name, "slow") {
			m.arrived <- struct{}{}
			<-release
		}
		_ = w.WriteMsg(new(dns.Msg).SetReply(request))
	}))
	t.Cleanup(func() { close(release) })
	local := newServer(quiet, m.answerHost)
	local.resolver, local.port = filepath.Join(t.TempDir(), "resolv.conf"), port
	if err := os.WriteFile(local.resolver, []byte("nameserver 127.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	attach := func(id string) runtime.Attachment {
		a, err := host.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = host.Detach(context.Background(), id) })
		return a
	}
	m.one = attach("before.names") // its subnet is known before there are virtual addresses
	if err := m.answerTasks(local); err != nil {
		t.Fatal(err)
	}
	m.local = local
	t.Cleanup(m.Close)
	m.two = attach("after.names")
	return m
}

// A container is a client of its own at the virtual addresses, and so is the host: what one of them floods leaves room for the others.
func TestAContainerIsAClientOfItsOwn(t *testing.T) {
	cni := ownNetwork(t)
	if cni == "" {
		return
	}
	m := newMachine(t, cni)
	resolver := net.JoinHostPort(m.local.address, "53")
	answer := func(conn *dns.Conn, name string) int {
		reply, _, err := new(dns.Client).ExchangeWithConn(new(dns.Msg).SetQuestion(name, dns.TypeA), conn)
		if err != nil {
			t.Fatal(err)
		}
		return reply.Rcode
	}
	flood := &dns.Conn{Conn: dialFrom(t, m.one.Namespace, "udp", resolver)}
	refused := make(chan struct{}, maxForwarded)
	go func() {
		for {
			if _, err := flood.ReadMsg(); err != nil {
				return
			}
			refused <- struct{}{}
		}
	}()
	for range maxForwarded {
		if err := flood.WriteMsg(new(dns.Msg).SetQuestion("slow.example.", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
		select { // one after another: no buffer of a socket overflows
		case <-m.arrived:
		case <-refused:
		}
	}
	for who, namespace := range map[string]string{"another container": m.two.Namespace, "the host": ""} {
		if code := answer(&dns.Conn{Conn: dialFrom(t, namespace, "udp", resolver)}, "right.example."); code != dns.RcodeSuccess {
			t.Errorf("beside a container that floods, %s is answered %s", who, dns.RcodeToString[code])
		}
	}

	socket, err := m.Listen(2, 80)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		_, _ = io.WriteString(w, from)
	})}
	go server.Serve(socket)
	t.Cleanup(func() { server.Close() })
	for namespace, want := range map[string]string{m.one.Namespace: m.one.Address, m.two.Namespace: m.two.Address, "": m.network.gateway.String()} {
		conn := dialFrom(t, namespace, "tcp", socket.Addr().String())
		if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(text), "\r\n\r\n"+want) {
			t.Errorf("a proxy sees %q, %v: want %s", text, err, want)
		}
	}
}

// Of the connections of DNS over TCP a client has so many, and leaves room for others.
func TestConnectionsOfOneClientLeaveRoomForOthers(t *testing.T) {
	host, _ := resolving(t)
	ask := func(from string) error {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", host.udp.PacketConn.LocalAddr().String())
		if err != nil {
			return err
		}
		t.Cleanup(func() { conn.Close() })
		_, _, err = (&dns.Client{Net: "tcp"}).ExchangeWithConn(new(dns.Msg).SetQuestion("llm.prod.", dns.TypeA), &dns.Conn{Conn: conn})
		return err
	}
	for range maxPerClient {
		if err := ask("127.0.0.2"); err != nil {
			t.Fatal(err)
		}
	}
	if ask("127.0.0.2") == nil {
		t.Errorf("a client that has %d connections gets one more", maxPerClient)
	}
	if err := ask("127.0.0.3"); err != nil {
		t.Errorf("beside it another client: %v", err)
	}
}

// The host and the tasks on its network have one address, and half of what is forwarded.
func TestTheAddressOfTheHostIsThatOfMany(t *testing.T) {
	s := newSlots(maxForwarded)
	s.many = "198.19.0.1"
	of := func(client string) (taken int) {
		for s.take(client) {
			taken++
		}
		return taken
	}
	if host, container := of(s.many), of("10.88.0.2"); host != maxForwarded/2 || container != maxPerClient {
		t.Errorf("the host has %d slots, a container beside it %d", host, container)
	}
}
