package raftfsm

import (
	"errors"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// newHostKey makes the access key of a host.
func newHostKey(id, hostID string) credential.Create {
	role, cluster := accesskey.HostRights(false, spec.DefaultCluster)
	return credential.Create{Key: accesskey.Key{ID: id, HostID: hostID, Secret: id, Role: role, Cluster: cluster, CreatedAt: epoch}}
}

// putHost registers a host of the default cluster.
func putHost(t *testing.T, h *history, id string) *spec.Host {
	t.Helper()
	return h.do(t, PutHost{spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster}}).(*spec.Host)
}

// checkHostKey checks the rights of the key of a host; an empty role is for none.
func checkHostKey(t *testing.T, h *history, hostID, keyID string, role accesskey.Role, cluster string) {
	t.Helper()
	key := credential.OfHost(h.View(), hostID)
	switch {
	case key == nil && role == "":
	case key == nil || key.ID != keyID || key.Role != role || key.Cluster != cluster:
		t.Errorf("the key of %s is %+v, want %s %s %q", hostID, key, keyID, role, cluster)
	}
}

func TestTheKeyOfAHostFollowsItsRoleAndEndsWithIt(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	h.do(t, SetServerRole{ID: putHost(t, h, "h1").ID, Server: true})
	host := putHost(t, h, "h2")
	forged := newHostKey("K1", "h2")
	forged.Key.Role, forged.Key.Cluster = accesskey.RoleAdmin, ""
	h.do(t, Wrap(forged))
	checkHostKey(t, h, "h2", "K1", accesskey.RoleRead, spec.DefaultCluster)
	h.do(t, Wrap(newHostKey("K2", "h2")))
	checkHostKey(t, h, "h2", "K2", accesskey.RoleRead, spec.DefaultCluster)
	if h.View().AccessKey("K1") != nil {
		t.Error("the host has two keys")
	}
	h.do(t, SetServerRole{ID: "h2", Server: true})
	checkHostKey(t, h, "h2", "K2", accesskey.RoleAdmin, "")
	h.do(t, SetServerRole{ID: "h2"})
	moved := *host
	moved.Cluster = "lab"
	h.do(t, PutHost{moved})
	checkHostKey(t, h, "h2", "K2", accesskey.RoleRead, "lab")
	h.do(t, Wrap(credential.Create{Key: accesskey.Key{ID: "K3", Secret: "s", Role: accesskey.RoleAdmin}}))

	h.do(t, RemoveHost{ID: "h2", Force: true, At: at(1)})
	checkHostKey(t, h, "h2", "", "", "")
	if h.View().AccessKey("K2") != nil || h.View().AccessKey("K3") == nil {
		t.Error("the host's key is still there, or another one is gone")
	}
	if _, err := h.try(t, Wrap(newHostKey("K4", "h2"))); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("a removed host gets a key: %v", err)
	}
}

// The first host asks for its key before it is recorded as a server.
func TestTheFirstHostKeepsTheRightsThatItsServerGave(t *testing.T) {
	h := newHistory(t)
	c := newHostKey("K1", "h1")
	c.Key.Role, c.Key.Cluster = accesskey.HostRights(true, spec.DefaultCluster)
	h.do(t, Wrap(c))
	checkHostKey(t, h, "h1", "K1", accesskey.RoleAdmin, "")
	host := putHost(t, h, "h1")
	h.do(t, PutHost{*host})
	h.do(t, SetServerRole{ID: "h1", Server: true})
	checkHostKey(t, h, "h1", "K1", accesskey.RoleAdmin, "")
}

// The token says which cluster a host is for: another one would show it the definitions of others.
func TestAHostStaysInTheClusterOfItsToken(t *testing.T) {
	h := newHistory(t)
	for _, name := range []string{"lab", "prod"} {
		h.do(t, CreateCluster{spec.Cluster{Name: name, Status: spec.ClusterActive}})
	}
	token := joinToken("a", 3)
	token.Cluster = "lab"
	h.do(t, Wrap(jointoken.Create{Token: token}))
	ask := admit("n1", "k1", "a", 1)
	ask.Cluster = "prod"
	if _, err := h.try(t, ask); err == nil {
		t.Error("a token for lab lets a host into prod")
	}
	ask.Cluster = ""
	h.do(t, ask)
	put := func(cluster string) (*spec.Host, error) {
		answer, err := h.try(t, PutHost{spec.Host{ID: "n1", Name: "n1", Cluster: cluster}})
		host, _ := answer.(*spec.Host)
		return host, err
	}
	if host, err := put(""); err != nil || host.Cluster != "lab" {
		t.Errorf("%+v, %v", host, err)
	}
	for _, cluster := range []string{"prod", spec.DefaultCluster} {
		if _, err := put(cluster); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("it comes back as a host of %s: %v", cluster, err)
		}
	}
	h.do(t, SetServerRole{ID: "n1", Server: true})
	if host, err := put("prod"); err != nil || host.Cluster != "prod" {
		t.Errorf("a server, which holds the state of all: %+v, %v", host, err)
	}
	h.do(t, SetServerRole{ID: "n1"})
	if host, err := put(""); err != nil || host.Cluster != "prod" {
		t.Errorf("an agent again: %+v, %v", host, err)
	}
}
