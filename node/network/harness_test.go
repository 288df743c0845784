package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/network/networktest"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// open gives a bridge of a data directory of its own, which is cleaned up after the test.
func open(t *testing.T) *Bridge {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	b := reopen(t, t.TempDir())
	t.Cleanup(func() {
		if err := b.Close(); err != nil { // before the bridge goes, or a spare would bring it back
			t.Error(err)
		}
		destroyAll(t, b.dir)
	})
	return b
}

// openWithFirewall is open for tests of the rules of iptables, without which a host publishes no ports.
func openWithFirewall(t *testing.T) *Bridge {
	t.Helper()
	b := open(t)
	if b.firewall == nil {
		t.Fatal("these tests need iptables: apt-get install iptables")
	}
	return b
}

func reopen(t *testing.T, dir string) *Bridge {
	t.Helper()
	b, err := Open(networktest.Plugins(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// destroyAll takes down everything that the data directory has on this machine, and checks that nothing is left.
func destroyAll(t *testing.T, dir string) {
	b := reopen(t, dir)
	bridge := "none"
	if b.config != nil {
		bridge = b.config.Bridge
	}
	all, err := b.records.all()
	if err != nil {
		t.Error(err)
	}
	for _, r := range all {
		if err := b.tearDown(context.Background(), r); err != nil {
			t.Error(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if linkExists(bridge) || firewallMentions(t, bridge) {
		t.Errorf("bridge %s or rules of it are left", bridge)
	}
}

func linkExists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

func firewallMentions(t *testing.T, bridge string) bool {
	out, err := exec.Command("iptables-save").CombinedOutput()
	if err != nil {
		t.Logf("iptables-save: %v", err)
		return false
	}
	return strings.Contains(string(out), " "+bridge+" ")
}

func attach(t *testing.T, b *Bridge, id string, ports ...spec.PortMapping) runtime.Attachment {
	t.Helper()
	a, err := b.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: id, Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func detach(t *testing.T, b *Bridge, id string) {
	t.Helper()
	if err := b.Detach(context.Background(), id); err != nil {
		t.Error(err)
	}
}

// inNamespace runs f on a thread inside the namespace.
func inNamespace(t *testing.T, namespace string, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		goruntime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		file, err := os.Open(namespace)
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			file.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// serve answers "hello from NAME" to everybody who connects inside the namespace.
func serve(t *testing.T, namespace, name string, port int) {
	t.Helper()
	var listener net.Listener
	inNamespace(t, namespace, func() (err error) {
		listener, err = net.Listen("tcp4", fmt.Sprintf(":%d", port))
		return err
	})
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "hello from "+name)
			c.Close()
		}
	}()
}

func fetch(address string) (string, error) {
	c, err := net.DialTimeout("tcp4", address, 10*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	raw, err := io.ReadAll(c)
	return string(raw), err
}

func wantHello(t *testing.T, address, name string) {
	t.Helper()
	if got, err := fetch(address); got != "hello from "+name {
		t.Errorf("%s answers %q, %v; want %s", address, got, err, name)
	}
}

// wantAttached checks that exactly these have records and namespaces, spares left aside.
func wantAttached(t *testing.T, b *Bridge, ids ...string) {
	t.Helper()
	all, err := b.records.all()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		if !r.isPrewarmed() {
			got = append(got, r.ID)
		}
	}
	if strings.Join(got, " ") != strings.Join(ids, " ") {
		t.Errorf("attached are %v, want %v", got, ids)
	}
}
