package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/backup"
	"pinion/server/pki"
	"pinion/server/recovery"
	"pinion/server/seal"
)

func TestAnAgentWhoseServerGoesReportsToAnotherBeforeItIsGivenAnything(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	agent := p.hosts[slices.IndexFunc(p.hosts, func(h *testHost) bool { return h.member.localServer() == nil })]
	task := p.run(agent)
	eventually(t, "the task runs", func() bool { return p.view().Task(task.ID).LastStatus == spec.Running })
	at := agent.member.upstream.Session().Address
	p.hosts[slices.IndexFunc(p.hosts, func(h *testHost) bool { return h.where == at })].close()
	eventually(t, "the agent is with another server", func() bool {
		s := agent.member.upstream.Session()
		return s != nil && s.Address != at
	})
	again := p.run(agent)
	eventually(t, "the new task runs beside the old one", func() bool {
		return agent.agent.runs(again.ID) && agent.agent.runs(task.ID) && p.view().Task(again.ID).LastStatus == spec.Running
	})
	assertOrder(t, agent)
	if history := agent.agent.history(); slices.Index(history, "joined with 1") > slices.Index(history, "given "+again.ID) {
		t.Errorf("it was given the new task before it reported the old one: %q", history)
	}
}

func TestAHostThatIsSilentLosesItsTasksAndStopsThemOnReturn(t *testing.T) {
	p := newPool(t)
	var c clock
	p.now = func() time.Time { return time.Now().Add(time.Duration(c.passed.Load())) }
	p.found(nil)
	p.join(1)
	first, second := p.hosts[0], p.hosts[1]
	eventually(t, "the second host is known", func() bool { return p.view().Host(second.cfg.HostID) != nil })
	task := p.run(second)
	eventually(t, "the task runs", func() bool { return p.view().Task(task.ID).LastStatus == spec.Running })

	second.close()
	c.pass(50 * time.Second)
	eventually(t, "the host counts as disconnected", func() bool { return !first.member.Connected(second.cfg.HostID) })
	if known := p.view().Task(task.ID); known.LastStatus != spec.Running {
		t.Fatalf("after 50 s its task is %s", known.LastStatus)
	}
	c.pass(15 * time.Second)
	eventually(t, "its task counts as stopped", func() bool { return p.view().Task(task.ID).LastStatus == spec.Stopped })
	if lost := p.view().Host(second.cfg.HostID); !lost.Lost() || len(p.view().Free(second.cfg.HostID).GPUs) != 0 {
		t.Errorf("the lost host: %+v", lost)
	}
	if p.view().Host(first.cfg.HostID).Lost() {
		t.Error("a host that beats was given up")
	}

	if err := second.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is back", func() bool { return !p.view().Host(second.cfg.HostID).Lost() })
	eventually(t, "it was told to stop the task", func() bool { return !second.agent.runs(task.ID) })
	if !slices.Contains(second.agent.disowned, task.ID) {
		t.Error("the host was not told when it joined")
	}
}

func TestARemovedHostIsRefusedForEver(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	removed := p.join(1)[0]
	eventually(t, "the host is known", func() bool { return p.view().Host(removed.cfg.HostID) != nil })
	task := p.run(removed)
	if err := first.member.Hosts.RemoveHost(t.Context(), removed.cfg.HostID, false); !errors.Is(err, spec.ErrInUse) {
		t.Fatalf("with a task: %v", err)
	}
	if err := first.member.Hosts.RemoveHost(t.Context(), removed.cfg.HostID, true); err != nil {
		t.Fatal(err)
	}
	if p.view().Task(task.ID).LastStatus != spec.Stopped || p.view().Host(removed.cfg.HostID) != nil {
		t.Error("something is left of the host")
	}
	eventually(t, "it has no session any more", func() bool {
		return removed.member.upstream.Session() == nil
	})
	if _, err := removed.member.Agent().Join(t.Context(), removed.agent.host, nil); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("with its old certificate: %v", err)
	}
	if err := <-removed.member.Fatal(); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("the process ends saying %v", err)
	}
	removed.close()
	if err := first.member.Hosts.RemoveHost(t.Context(), first.cfg.HostID, true); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("the only server: %v", err)
	}
}

func TestAServerIsRemovedAndAnotherReplacesIt(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	removed := p.followers()[0]
	eventually(t, "the server is removed", func() bool {
		err := p.leader().member.Hosts.RemoveHost(t.Context(), removed.cfg.HostID, true)
		return err == nil
	})
	removed.close()
	p.waitForVoters(3)
	p.checkAgreement()
}

func TestAServerThatIsGoneForGoodIsReplacedAndReturnsAsAnAgent(t *testing.T) {
	p := newPool(t)
	p.found(func(c *MemberConfig) { c.ReplaceAfter = 2 * time.Second })
	p.join(2)
	p.waitForVoters(3)
	p.join(1)
	gone := p.followers()[0]
	gone.close()
	p.waitForVoters(3)
	if err := gone.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has wiped its log and is an agent", func() bool {
		return gone.member.localServer() == nil && gone.member.upstream.Connected()
	})
	p.waitForVoters(3)
	p.checkAgreement()
	task := p.run(gone)
	eventually(t, "it takes work", func() bool { return gone.agent.runs(task.ID) })
}

func TestPeopleExchangeServers(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	agent := p.hosts[slices.IndexFunc(p.hosts, func(h *testHost) bool { return h.member.localServer() == nil })]
	eventually(t, "the agent is promoted", func() bool {
		return p.leader().member.Hosts.Promote(t.Context(), agent.cfg.HostID) == nil
	})
	eventually(t, "it is a server", func() bool { return agent.member.localServer() != nil })
	p.waitForVoters(3)
	var old *testHost
	eventually(t, "the leader is demoted, once the one before has wiped its log", func() bool {
		old = p.leader()
		return old.member.Hosts.Demote(t.Context(), old.cfg.HostID) == nil
	})
	eventually(t, "the demoted leader is an agent", func() bool { return old.member.localServer() == nil })
	p.waitForVoters(3)
	p.checkAgreement()
	if err := old.member.Hosts.Demote(t.Context(), old.cfg.HostID); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("an agent decides on servers: %v", err)
	}
}

func TestAPoolGoesOnFromOneSurvivor(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	agent := p.hosts[slices.IndexFunc(p.hosts, func(h *testHost) bool { return h.member.localServer() == nil })]
	task := p.run(agent)
	eventually(t, "the task runs", func() bool { return p.view().Task(task.ID).LastStatus == spec.Running })
	p.checkAgreement()
	survivor, others := p.leader(), p.followers()
	for _, h := range append(others, survivor) {
		h.close()
	}
	if incarnation, err := recovery.RecoverPool(t.Context(), offline(survivor)); err != nil || incarnation != 2 {
		t.Fatal(incarnation, err)
	}
	if err := survivor.start(); err != nil {
		t.Fatal(err)
	}
	if got := p.view().Settings().Incarnation; got != 2 {
		t.Errorf("incarnation %d", got)
	}
	if p.view().Task(task.ID).LastStatus != spec.Running {
		t.Error("the task is forgotten")
	}
	eventually(t, "the agent follows", func() bool { return agent.member.poolCache.Incarnation() == 2 && agent.agent.runs(task.ID) })
	for _, h := range others { // with their old logs
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "what was left of the old pool has joined the new one", func() bool {
		for _, h := range others {
			if h.member.poolCache.Incarnation() != 2 {
				return false
			}
		}
		return p.voters() == 3
	})
	p.checkAgreement()
	if p.view().Settings().Incarnation != 2 || p.view().Task(task.ID) == nil {
		t.Error("the old pool is back")
	}
}

func TestASnapshotBeginsThePoolAnewOnAnotherMachine(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	second := p.join(1)[0]
	task := p.run(second)
	eventually(t, "the task runs", func() bool { return p.view().Task(task.ID).LastStatus == spec.Running })
	var file bytes.Buffer
	if err := first.member.Snapshots.SaveSnapshot(t.Context(), &file, false); err != nil {
		t.Fatal(err)
	}
	first.close()

	info, err := backup.Inspect(bytes.NewReader(file.Bytes()), nil)
	if err != nil || info.Pool != first.cfg.PoolID || info.Hosts != 2 || info.Tasks != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	damaged := bytes.Replace(file.Bytes(), []byte("host-1"), []byte("host-7"), 1)
	if _, err := backup.Inspect(bytes.NewReader(damaged), nil); !errors.Is(err, raftfsm.ErrDamaged) {
		t.Errorf("a damaged one: %v", err)
	}

	third := p.host(nil)
	prepareRestore(t, third, first.where) // hosts look for the pool where it was
	copyKeyring(t, first, third)
	if incarnation, err := recovery.RestorePool(t.Context(), offline(third), &file); err != nil || incarnation != 2 {
		t.Fatal(incarnation, err)
	}
	if err := third.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other host follows with what it runs", func() bool {
		known := p.view().Task(task.ID)
		return second.member.poolCache.Incarnation() == 2 && known != nil && known.LastStatus == spec.Running && third.member.Connected(second.cfg.HostID)
	})
	again := p.run(second)
	eventually(t, "it takes work", func() bool { return second.agent.runs(again.ID) && second.agent.runs(task.ID) })
	if backups, _ := filepath.Glob(third.dir + "/snapshots/*.snapshot"); len(backups) != 1 {
		t.Errorf("%d daily snapshots", len(backups))
	}
}

// prepareRestore makes a host that never ran ready for Restore at an address.
func prepareRestore(t *testing.T, h *testHost, address string) {
	t.Helper()
	var err error
	h.where, h.cfg.Address = address, address
	h.cfg.Identity, err = pki.OpenWith(h.dir+"/pki", h.cfg.HostID, []string{"127.0.0.1"}, pki.Options{Joining: true, Keys: h.keys})
	if err != nil {
		t.Fatal(err)
	}
}

// copyKeyring copies the sealing keys of a server, as an administrator does from a backup.
func copyKeyring(t *testing.T, from, to *testHost) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(from.dir, seal.File))
	if err == nil {
		err = os.WriteFile(filepath.Join(to.dir, seal.File), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
