package main

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/server"
	"pinion/server/peer"
	"pinion/server/pki"
)

// A host of the fleet is to its pool what any other is: it is known with its GPUs and connected, it takes a task and
// reports it RUNNING, and it is lost when it falls silent.
func TestAHostOfTheFleetIsAHostUntilItFallsSilent(t *testing.T) {
	leader, address := bootstrapPool(t)
	// Agents, as the pool would put one of them in the place of its first server, which runs no agent here.
	token, err := leader.JoinTokens.CreateJoinToken(t.Context(), 0, 2, jointoken.RoleAgent, "fleet")
	if err != nil {
		t.Fatal(err)
	}
	in := joinConfig{dir: t.TempDir(), ip: "127.0.0.1", join: address, joinToken: token, gpus: "2xh100", cluster: "fleet", log: slog.New(slog.DiscardHandler)}
	hosts, err := joinAll(t.Context(), in, 2)
	t.Cleanup(func() { closeAll(hosts) })
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		known := readView(t, leader).Host(h.id)
		if known == nil || known.Cluster != "fleet" || len(known.GPUs.Devices) != 2 || !leader.Connected(h.id) {
			t.Fatalf("the pool knows host %s as %+v", h.id, known)
		}
	}
	task := runTask(t, leader)
	eventually(t, "the task runs", func() bool { return readView(t, leader).Task(task).LastStatus == spec.Running })

	hosts[0].stopAgent()
	eventually(t, "the silent host is lost", func() bool { return !leader.Connected(hosts[0].id) })
	eventually(t, "the other host is not, or not for long", func() bool { return leader.Connected(hosts[1].id) })
}

// bootstrapPool begins a pool of one server, which holds a host for lost after three seconds.
func bootstrapPool(t *testing.T) (leader *server.Member, address string) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const id = "0123456789abcdef0123456789abcdef"
	dir := t.TempDir()
	identity, err := pki.OpenWith(dir+"/pki", id, []string{"127.0.0.1"}, pki.Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	port := peer.Listen(listener, identity, quiet)
	t.Cleanup(func() { port.Close() })
	leader, err = server.OpenMember(t.Context(), server.MemberConfig{
		Dir: dir, HostID: id, Address: listener.Addr().String(), Name: "first", Version: "test", Identity: identity, Port: port,
		Log: quiet, DisconnectedAfter: 3 * time.Second, Disk: server.MemberDisk{MinFree: 1, Reserve: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leader.Close() })
	return leader, listener.Addr().String()
}

// runTask starts a task somewhere in the fleet.
func runTask(t *testing.T, leader *server.Member) (task string) {
	t.Helper()
	definition := spec.TaskDefinition{Family: "work", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 1}}}
	if _, err := leader.Propose(t.Context(), raftfsm.RegisterDefinition{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	result, err := leader.Run(t.Context(), spec.RunRequest{Cluster: "fleet", Definition: "work:1", Count: 1})
	if err != nil || len(result.Tasks) != 1 {
		t.Fatal(result.Failures, err)
	}
	return result.Tasks[0].ID
}

func readView(t *testing.T, leader *server.Member) *raftfsm.View {
	t.Helper()
	v, err := leader.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("still not: %s", what)
		}
	}
}
