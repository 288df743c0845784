package network

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/network/networktest"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func TestContainersReachOneAnother(t *testing.T) {
	b := open(t)
	one, two := attach(t, b, "task.one"), attach(t, b, "task.two")
	if one.Address == two.Address || !isNamespace(one.Namespace) {
		t.Fatalf("attachments are %+v and %+v", one, two)
	}
	serve(t, two.Namespace, "two", 80)
	inNamespace(t, one.Namespace, func() error {
		wantHello(t, two.Address+":80", "two")
		out, err := exec.Command("busybox", "ping", "-c1", "-W5", two.Address).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ping: %w: %s", err, out)
		}
		return err
	})
	wantHello(t, two.Address+":80", "two") // and the host reaches them
}

func TestLoopbackIsUp(t *testing.T) {
	b := open(t)
	a := attach(t, b, "task.one")
	serve(t, a.Namespace, "itself", 8080)
	inNamespace(t, a.Namespace, func() error {
		wantHello(t, "127.0.0.1:8080", "itself")
		return nil
	})
}

func TestAttachmentsOutliveARestart(t *testing.T) {
	b := open(t)
	ports := []spec.PortMapping{{ContainerPort: 80, Protocol: "tcp"}}
	if b.firewall == nil {
		ports = nil
	}
	before := attach(t, b, "task.one", ports...)
	serve(t, before.Namespace, "one", 80)

	again := reopen(t, b.dir)
	after := attach(t, again, "task.one", ports...)
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before the restart %+v, after it %+v", before, after)
	}
	wantHello(t, after.Address+":80", "one")
	if other := attach(t, again, "task.two"); other.Address == before.Address {
		t.Errorf("address %s was given out twice", other.Address)
	}
	detach(t, again, "task.one")
	detach(t, again, "task.one")
	detach(t, again, "task.never")
	wantAttached(t, again, "task.two")
}

func TestWhatACrashLeavesIsCleared(t *testing.T) {
	b := open(t)
	whole := attach(t, b, "task.whole")
	half := record{ID: "task.half", Sandbox: newSandbox()}
	if err := b.records.write(half); err != nil {
		t.Fatal(err)
	}
	if err := createNamespace(b.namespace(half), runtime.IDRange{}); err != nil {
		t.Fatal(err)
	}
	unrecorded := filepath.Join(b.namespaces(), newSandbox())
	if err := createNamespace(unrecorded, runtime.IDRange{}); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, b.dir)
	wantAttached(t, again, "task.whole")
	if isNamespace(unrecorded) || isNamespace(b.namespace(half)) || !isNamespace(whole.Namespace) {
		t.Error("namespaces: the whole one should be left, and no other")
	}
}

func TestAfterARebootAddressesAreFreeAgain(t *testing.T) {
	b := open(t)
	a := attach(t, b, "task.one")
	if err := unix.Unmount(a.Namespace, unix.MNT_DETACH); err != nil { // what a reboot leaves: files, no namespaces
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, b.dir)
	wantAttached(t, again)
	if _, err := os.Stat(again.leases()); !os.IsNotExist(err) {
		t.Errorf("leases are still there: %v", err)
	}
	attach(t, again, "task.one")
}

func TestTwoDataDirectoriesOnOneMachine(t *testing.T) {
	one, two := open(t), open(t)
	a, b := attach(t, one, "task.one"), attach(t, two, "task.one")
	if one.config.Bridge == two.config.Bridge || one.config.Subnet == two.config.Subnet || a.Address == b.Address {
		t.Errorf("places are %+v and %+v", one.config, two.config)
	}
}

func TestSparesAreTakenAndMadeAgain(t *testing.T) {
	b := open(t)
	attach(t, b, "task.first")
	waitForPrewarmed(t, b)
	spare := b.prewarmed.ready[0].Address
	if a := attach(t, b, "task.second"); a.Address != spare {
		t.Errorf("the second got %s, %s was ready", a.Address, spare)
	}
	waitForPrewarmed(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantAttached(t, b, "task.first", "task.second")
	files, err := os.ReadDir(b.namespaces())
	if err != nil || len(files) != 2 {
		t.Errorf("%d namespaces are left, want 2 (%v)", len(files), err)
	}
}

// waitForPrewarmed returns when the refill has run.
func waitForPrewarmed(t *testing.T, b *Bridge) {
	t.Helper()
	b.prewarmed.busy.Wait()
	if len(b.prewarmed.ready) != prewarmCount {
		t.Fatalf("%d spares are ready, want %d", len(b.prewarmed.ready), prewarmCount)
	}
}

func TestManyAtOnce(t *testing.T) {
	b := open(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	addresses := map[string]bool{}
	for i := range 16 {
		all.Go(func() {
			a, err := b.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: fmt.Sprintf("task.n%d", i)})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			addresses[a.Address] = true
		})
	}
	all.Wait()
	if len(addresses) != 16 {
		t.Errorf("%d different addresses, want 16", len(addresses))
	}
}

func TestMissingPluginsAreSaidAtStart(t *testing.T) {
	if _, err := Open(t.TempDir(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "CNI plugin bridge") {
		t.Errorf("Open answers %v", err)
	}
}

func TestDestroyLeavesNothing(t *testing.T) {
	dir := open(t).dir + "-gone"
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := Open(networktest.Plugins(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	var ports []spec.PortMapping
	if b.firewall != nil {
		ports = []spec.PortMapping{{ContainerPort: 80}}
	}
	namespace := attach(t, b, "task.one", ports...).Namespace
	bridge := b.config.Bridge
	if err := b.Close(); err != nil { // as pinion ends: the container stays attached
		t.Fatal(err)
	}
	for range 2 {
		if err := Destroy(t.Context(), networktest.Plugins(t), dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) || isNamespace(namespace) || linkExists(bridge) || firewallMentions(t, bridge) {
			t.Errorf("something is left of %s: %v", dir, err)
		}
	}
}

// A machine that lost power can have records of ports whose bridge nobody remembers.
func TestRecordsWithoutABridgeAreCleared(t *testing.T) {
	b := open(t)
	orphan := record{ID: "task.web", Sandbox: newSandbox(), Complete: true, Bindings: []spec.NetworkBinding{{ContainerPort: 80, HostPort: 4711, Protocol: "tcp"}}}
	if err := b.records.write(orphan); err != nil {
		t.Fatal(err)
	}
	wantAttached(t, reopen(t, b.dir))
}
