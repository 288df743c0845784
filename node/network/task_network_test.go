package network

import (
	"context"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"pinion/node/network/networktest"
	"pinion/node/runtime"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
)

// lab is the network of these tests. Its range is nobody's in the other tests.
var lab = tasknetwork.Network{Name: "lab", Range: "100.100.0.0/16"}

type noProxy struct{}

func (noProxy) Apply(traffic.Routing) map[string]error { return nil }

// openTaskHost is a host with the network of tasks lab, cleaned up after the test.
func openTaskHost(t *testing.T, dir string) *Host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	h, err := OpenHost(Config{CNI: networktest.Plugins(t), Dir: dir, HostID: "me", Tasks: &lab, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h.Tasks.Before(noProxy{})
	t.Cleanup(func() {
		if _, err := os.Stat(h.Bridge.records.dir); err != nil {
			return // a later one has destroyed it
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := Destroy(context.Background(), networktest.Plugins(t), dir); err != nil {
			t.Error(err)
		}
		if linkExists(taskBridge) || firewallMentions(t, taskBridge) || len(labRoutes(t)) > 0 {
			t.Errorf("the bridge, rules or routes are left: %v", labRoutes(t))
		}
	})
	return h
}

func attachTask(t *testing.T, h *Host, id string) runtime.Attachment {
	t.Helper()
	a, err := h.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkAwsvpc, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// labRoutes are Pinion's routes in the range of lab: "SUBNET via HOST".
func labRoutes(t *testing.T) (all []string) {
	t.Helper()
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		all = append(all, r.Dst.String()+" via "+r.Gw.String())
	}
	slices.Sort(all)
	return all
}

// neighbour gives this machine an interface with 100.99.0.1, so that 100.99.0.2 is a host beside it.
func neighbour(t *testing.T) {
	t.Helper()
	link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "pinion-side"}}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(link) })
	address, err := netlink.ParseAddr("100.99.0.1/24")
	if err == nil {
		err = netlink.AddrAdd(link, address)
	}
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func route(id, subnet, via string) tasknetwork.Route {
	return tasknetwork.Route{Network: lab.Name, Range: lab.Range, Subnet: subnet, HostID: id, Via: via}
}

// The containers of a task share an address out of the subnet that the pool has given to the host, at which this host and other tasks reach
// them at any port.
func TestATaskHasAnAddressOfItsOwn(t *testing.T) {
	h := openTaskHost(t, t.TempDir())
	h.Tasks.Apply(traffic.Routing{TaskNetworks: []tasknetwork.Route{route("me", "100.100.7.0/24", "100.99.0.1")}})
	web, other := attachTask(t, h, "task1"), attachTask(t, h, "task2")
	for _, a := range []runtime.Attachment{web, other} {
		if address, err := netip.ParseAddr(a.Address); err != nil || !netip.MustParsePrefix("100.100.7.0/24").Contains(address) || address.String() == "100.100.7.1" {
			t.Errorf("%+v", a)
		}
	}
	if again := attachTask(t, h, "task1"); again.Namespace != web.Namespace || again.Address != web.Address || again.Namespace == other.Namespace {
		t.Errorf("a second container gets %+v, the first has %+v", again, web)
	}
	serve(t, web.Namespace, "web", 80)
	wantHello(t, web.Address+":80", "web")
	inNamespace(t, other.Namespace, func() error {
		got, err := fetch(web.Address + ":80")
		if got != "hello from web" {
			t.Errorf("another task gets %q, %v", got, err)
		}
		return nil
	})
	for _, id := range []string{"task1", "task2"} {
		if err := h.Detach(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

// The pool is believed within the network that the operator has named: no other route is set, whatever the hosts say, and those of hosts that are
// gone are removed.
func TestRoutesLeadToTheSubnetsOfTheNetworkAlone(t *testing.T) {
	neighbour(t)
	h := openTaskHost(t, t.TempDir())
	me := route("me", "100.100.7.0/24", "100.99.0.1")
	elsewhere, larger, named := route("f", "8.8.8.0/24", "100.99.0.2"), route("g", "100.100.0.0/16", "100.99.0.2"), route("h", "100.100.5.0/24", "100.99.0.2")
	named.Network = "other"
	ranged := route("i", "9.9.9.0/24", "100.99.0.2")
	ranged.Range = "9.9.0.0/16"
	h.Tasks.Apply(traffic.Routing{TaskNetworks: []tasknetwork.Route{
		me, route("a", "100.100.1.0/24", "100.99.0.2"), route("b", "100.100.2.0/24", "100.99.0.3"), route("c", "100.100.3.0/24", "100.99.0.1"),
		route("d", "100.100.4.0/24", "not-an-address"), route("e", "100.100.6.0/24", "203.0.113.1"), elsewhere, larger, named, ranged,
	}})
	want := []string{"100.100.1.0/24 via 100.99.0.2", "100.100.2.0/24 via 100.99.0.3"}                            // c is on this machine
	got := slices.DeleteFunc(labRoutes(t), func(r string) bool { return strings.HasPrefix(r, "100.100.6.0/24") }) // e: as the default route has it
	if !slices.Equal(got, want) {
		t.Errorf("the routes are %v, want %v", got, want)
	}
	h.Tasks.Apply(traffic.Routing{TaskNetworks: []tasknetwork.Route{me, route("b", "100.100.2.0/24", "100.99.0.4")}})
	if got, want := labRoutes(t), []string{"100.100.2.0/24 via 100.99.0.4"}; !slices.Equal(got, want) {
		t.Errorf("the routes are %v, want %v", got, want)
	}
}

// A task keeps its address when Pinion starts anew, and is detached when the network of tasks was taken from the host.
func TestATaskKeepsItsAddressOverARestart(t *testing.T) {
	dir := t.TempDir()
	h := openTaskHost(t, dir)
	routing := traffic.Routing{TaskNetworks: []tasknetwork.Route{route("me", "100.100.7.0/24", "100.99.0.1")}}
	h.Tasks.Apply(routing)
	before := attachTask(t, h, "task1")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = openTaskHost(t, dir)
	h.Tasks.Apply(routing)
	if after := attachTask(t, h, "task1"); after.Address != before.Address || after.Namespace != before.Namespace {
		t.Errorf("%+v, before %+v", after, before)
	}
	h.Tasks.Apply(traffic.Routing{TaskNetworks: []tasknetwork.Route{route("me", "100.100.9.0/24", "100.99.0.1")}})
	if got := h.Tasks.bridge.subnet(); got != "100.100.7.0/24" {
		t.Errorf("the subnet became %s under a task", got)
	}
	without, err := OpenHost(Config{CNI: networktest.Plugins(t), Dir: dir, HostID: "me", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkAwsvpc, ID: "task2"}); err == nil {
		t.Error("a task is attached to a network that the host has no more")
	}
	if err := without.Detach(t.Context(), "task1"); err != nil || isNamespace(before.Namespace) {
		t.Errorf("%v, its namespace is left", err)
	}
	if err := without.Close(); err != nil {
		t.Error(err)
	}
}

// A network of tasks that this machine has an address in would cut it off from its neighbours.
func TestANetworkOfTasksThatTheMachineUsesIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an interface needs root")
	}
	neighbour(t)
	used := tasknetwork.Network{Name: "lab", Range: "100.96.0.0/14"}
	if _, err := OpenHost(Config{CNI: networktest.Plugins(t), Dir: t.TempDir(), Tasks: &used, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("it was opened")
	}
}

// After a reboot the bridge and the namespaces are gone, and what is kept of them in files is not.
func TestANetworkOfTasksComesBackAfterAReboot(t *testing.T) {
	dir := t.TempDir()
	h := openTaskHost(t, dir)
	routing := traffic.Routing{TaskNetworks: []tasknetwork.Route{route("me", "100.100.7.0/24", "100.99.0.1")}}
	h.Tasks.Apply(routing)
	before := attachTask(t, h, "task1")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	link, err := netlink.LinkByName(taskBridge)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err == nil {
		err = removeNamespace(before.Namespace)
	}
	if err != nil {
		t.Fatal(err)
	}
	h = openTaskHost(t, dir)
	h.Tasks.Apply(routing)
	serve(t, attachTask(t, h, "task2").Namespace, "again", 80)
	wantHello(t, attachTask(t, h, "task2").Address+":80", "again")
	if err := h.Detach(t.Context(), "task2"); err != nil {
		t.Error(err)
	}
}

// While no server answers a host that was started anew, its tasks go on as they are: their routes stay, and their attachments are found.
func TestWithoutAWordOfThePoolNothingOfANetworkOfTasksChanges(t *testing.T) {
	neighbour(t)
	dir := t.TempDir()
	h := openTaskHost(t, dir)
	h.Tasks.Apply(traffic.Routing{TaskNetworks: []tasknetwork.Route{route("me", "100.100.7.0/24", "100.99.0.1"), route("a", "100.100.1.0/24", "100.99.0.2")}})
	before := attachTask(t, h, "task1")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = openTaskHost(t, dir)
	h.Tasks.apply()
	if got, want := labRoutes(t), []string{"100.100.1.0/24 via 100.99.0.2"}; !slices.Equal(got, want) {
		t.Errorf("the routes are %v, want %v", got, want)
	}
	if after := attachTask(t, h, "task1"); after.Address != before.Address {
		t.Errorf("%+v, before %+v", after, before)
	}
	without, err := OpenHost(Config{CNI: networktest.Plugins(t), Dir: dir, HostID: "me", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if got := labRoutes(t); len(got) > 0 {
		t.Errorf("the routes of a network that the host has no more: %v", got)
	}
	if after := attachTask(t, without, "task1"); after.Address != before.Address {
		t.Errorf("a running task is found at %+v", after)
	}
	if err := without.Detach(t.Context(), "task1"); err != nil {
		t.Error(err)
	}
	if err := without.Close(); err != nil {
		t.Error(err)
	}
}
