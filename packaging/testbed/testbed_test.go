package testbed

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakePinion behaves like pinion as far as the testbed can tell: it says that it is ready, leaves children in namespaces of
// their own behind, and answers `token`. With the file `stubborn` beside it, `down` fails and does nothing.
const fakePinion = `#!/bin/sh
dir=$2
case "$3" in
up)
	mkdir -p $dir/mounted && mount -t tmpfs none $dir/mounted
	echo '{}' > $dir/pinion.json; echo $$ > $dir/lock
	[ -e "$dir.broken" ] && { echo it is broken >&2; rm $dir/pinion.json; exit 3; }
	unshare -n sleep 1000 &
	echo "Pinion is ready at https://$(hostname) $*"
	while :; do sleep 1; done ;;
token) echo pinion1.a.b.c ;;
down) [ -e "$(dirname $0)/stubborn" ] && { echo I will not >&2; exit 1; }
	kill $(cat $dir/lock) 2>/dev/null || true ;;
esac
`

func testConfig(t *testing.T, hosts int) Config {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("network namespaces need root")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "pinion")
	if err := os.WriteFile(binary, []byte(fakePinion), 0o755); err != nil {
		t.Fatal(err)
	}
	return Config{Dir: filepath.Join(dir, "testbed"), Binary: binary, Hosts: make([][]string, hosts)}
}

func newTestbed(t *testing.T, p Config) *Testbed {
	t.Helper()
	b, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(p.Dir); err == nil {
			if err := b.Down(context.Background()); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Log(err)
			}
		}
	})
	return b
}

func checkNothingLeft(t *testing.T, b *Testbed) {
	t.Helper()
	for _, name := range b.namespaces() {
		if _, err := os.Stat(namespacePath(name)); err == nil {
			t.Errorf("the namespace %s is left", name)
		}
	}
	if _, err := os.Stat(b.Dir); err == nil {
		t.Errorf("%s is left", b.Dir)
	}
	if mounts, _ := os.ReadFile("/proc/mounts"); strings.Contains(string(mounts), b.Dir) {
		t.Error("mounts are left")
	}
}

// delivers tells whether a datagram from one host arrives at the other, one of so many.
func delivers(t *testing.T, from, to *Host, tries int) bool {
	t.Helper()
	var receiver, sender net.PacketConn
	open := func(h *Host, c *net.PacketConn) {
		err := inNamespace(h.namespace, "", func() (err error) {
			*c, err = net.ListenPacket("udp4", netip.AddrPortFrom(h.IP, 0).String())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*c).Close() })
	}
	open(to, &receiver)
	open(from, &sender)
	buffer := make([]byte, 8)
	for range tries {
		if _, err := sender.WriteTo([]byte("hello"), receiver.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		receiver.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, _, err := receiver.ReadFrom(buffer); err == nil {
			return true
		}
	}
	return false
}

func TestACutDropsOneDirectionAndHealMendsIt(t *testing.T) {
	b := newTestbed(t, testConfig(t, 3))
	one, two, three := b.hosts[0], b.hosts[1], b.hosts[2]
	want := func(when string, from, to *Host, arrives bool) {
		t.Helper()
		tries := 3
		if arrives {
			tries = 100 // the first may be lost while the link comes up, and a busy machine be late
		}
		if got := delivers(t, from, to, tries); got != arrives {
			t.Errorf("%s, from %s to %s: arrives %v", when, from.Name, to.Name, got)
		}
	}
	want("whole", one, two, true)
	if err := b.Cut(one, two); err != nil {
		t.Fatal(err)
	}
	want("cut one way", one, two, false)
	want("cut one way", two, one, true)
	want("cut one way", one, three, true)
	if err := b.CutBoth(two, three); err != nil {
		t.Fatal(err)
	}
	want("cut both ways", two, three, false)
	want("cut both ways", three, two, false)
	if err := b.Heal(); err != nil {
		t.Fatal(err)
	}
	want("healed", one, two, true)
	want("healed", three, two, true)
	if err := b.Down(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, b)
}

func TestTheMachinesOwnNetworkStaysAsItIs(t *testing.T) {
	before, _ := net.Interfaces()
	b := newTestbed(t, testConfig(t, 2))
	listener, err := b.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	after, _ := net.Interfaces()
	if len(after) != len(before) {
		t.Errorf("%d interfaces before, %d now", len(before), len(after))
	}
	if listener.Addr().(*net.TCPAddr).AddrPort().Addr() != b.SwitchIP() {
		t.Errorf("listens on %v", listener.Addr())
	}
}

func TestHostsJoinTheFirstAndOutliveWhoStartedThem(t *testing.T) {
	p := testConfig(t, 3)
	b := newTestbed(t, p)
	if err := b.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := b.hosts[0].Output(); !strings.Contains(out, "https://host1 ") || strings.Contains(out, "--join") {
		t.Errorf("the first host: %s", out)
	}
	if out := b.hosts[2].Output(); !strings.Contains(out, "https://host3 ") || !strings.Contains(out, "--join "+b.hosts[0].Address()+" --token pinion1.a.b.c") {
		t.Errorf("the third host: %s", out)
	}
	if _, err := Open(p.Dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second user of the directory: %v", err)
	}
	b.Close()

	again, err := Open(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := again.Host("host2")
	steps := []struct {
		do   func() error
		want string
	}{
		{two.Pause, "stopped"}, {two.Resume, "running"}, {two.Pause, "stopped"},
		{func() error { return two.Kill(t.Context()) }, "down"},
		{func() error { return two.Start(t.Context()) }, "running"},
	}
	for i, step := range steps {
		err := step.do()
		err = errors.Join(err, poll(t.Context(), "status", func() (bool, error) { return two.Status() == step.want, nil }))
		if err != nil {
			t.Fatalf("step %d: %s, want %s: %v", i, two.Status(), step.want, err)
		}
	}
	if strings.Contains(two.Output(), "--join") {
		t.Errorf("a host that has joined is asked to join again: %s", two.Output())
	}
	if err := again.Down(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, again)
}

func TestAHostWithoutPowerSaysNothingMore(t *testing.T) {
	b := newTestbed(t, testConfig(t, 2))
	if err := b.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost, other := b.hosts[1], b.hosts[0]
	if err := lost.CutPower(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := processTree(lost.namespace); len(left) > 0 || lost.Status() != "down" {
		t.Errorf("%v are left, and the host is %s", left, lost.Status())
	}
	if delivers(t, lost, other, 3) || delivers(t, other, lost, 3) {
		t.Error("packets of it are seen")
	}
	if err := b.Heal(); err != nil {
		t.Fatal(err)
	}
	if !delivers(t, lost, other, 100) {
		t.Error("it stays without a network")
	}
	if err := b.Down(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, b)
}

func TestDownTakesAwayWhatPinionCannot(t *testing.T) {
	p := testConfig(t, 2)
	b := newTestbed(t, p)
	if err := b.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := processTree(b.hosts[1].namespace)
	if len(left) < 3 { // the stand-in, its own sleep, and the one in another namespace
		t.Fatalf("found only %v", left)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.Binary), "stubborn"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "I will not") {
		t.Errorf("that pinion could not is not said: %v", err)
	}
	for _, p := range left {
		if p.alive() {
			t.Errorf("process %v is left", p)
		}
	}
	checkNothingLeft(t, b)
}

func TestAHostThatDoesNotStartSaysWhy(t *testing.T) {
	p := testConfig(t, 2)
	b := newTestbed(t, p)
	if err := os.WriteFile(filepath.Join(p.Dir, "host2.broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Up(t.Context()); err == nil || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("got %v", err)
	}
	if err := b.Down(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, b)
}

func TestCommandsRunOnTheirHost(t *testing.T) {
	b := newTestbed(t, testConfig(t, 1))
	cmd := exec.Command("sh", "-c", "hostname; ip -4 -o addr show eth0; pinion - - token")
	var out strings.Builder
	cmd.Stdout = &out
	if err := b.hosts[0].Run(cmd); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "host1\n") || !strings.Contains(got, b.hosts[0].IP.String()) || !strings.HasSuffix(got, "pinion1.a.b.c\n") {
		t.Errorf("got %s", got)
	}
}
