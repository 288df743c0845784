package server

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pinion/packaging/keystore"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/seal"
)

// ringOf is the keyring on a server's disk.
func ringOf(t *testing.T, dir string, keys *keystore.Store) *seal.Keyring {
	t.Helper()
	ring, err := seal.Open(filepath.Join(dir, seal.File), keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// opened are the secrets of a state that a keyring opens, and whether the key of the CA is one.
func opened(view *raftfsm.View, ring *seal.Keyring) (secrets map[string]string, ca bool) {
	secrets = map[string]string{}
	for _, key := range credential.All(view) {
		if secret, err := ring.Open(key.ID, key.Sealed, key.Seal); err == nil {
			secrets[key.ID] = secret
		}
	}
	_, err := admission.OpenCA(ring, *view.CA())
	return secrets, err == nil
}

// createKeys makes access keys and returns their secrets.
func (p *pool) createKeys(n int) map[string]string {
	p.t.Helper()
	secrets := map[string]string{}
	for range n {
		key, err := p.leader().member.Keys.CreateKey(p.t.Context(), accesskey.Key{Role: accesskey.RoleSubmit})
		if err != nil {
			p.t.Fatal(err)
		}
		secrets[key.ID] = key.Secret
	}
	return secrets
}

// rotateSealingKey begins a rotation on whichever server leads.
func (p *pool) rotateSealingKey() {
	p.t.Helper()
	eventually(p.t, "the rotation begins", func() bool {
		err := p.leader().member.Keys.RotateSealingKey(p.t.Context())
		if err != nil && !errors.Is(err, spec.ErrUnavailable) {
			p.t.Fatal(err)
		}
		return err == nil
	})
}

// waitUntilSealed waits until every secret is sealed with the newest key, and every server that runs has only that.
func (p *pool) waitUntilSealed() {
	p.t.Helper()
	eventually(p.t, "everything is sealed with the new key, and the one before is gone", func() bool {
		view := p.view()
		if sealing.Find(view) == nil || !sealing.Outdated(view).Empty() {
			return false
		}
		return !slices.ContainsFunc(p.hosts, func(h *testHost) bool {
			if h.member == nil || h.member.localServer() == nil {
				return false
			}
			return !slices.Equal(ringOf(p.t, h.dir, h.keys).Names(), []string{sealing.Find(view).Name})
		})
	})
}

// Whoever took a server's disk and whose server was removed reads nothing that is sealed after that, and what is sealed stays readable
// for the pool, whichever server leads and ends meanwhile.
func TestAStolenServerReadsNothingThatIsSealedAfterARotation(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	secrets := p.createKeys(2*resealBatchOfTests + 1)
	lost := p.followers()[0]
	eventually(t, "the server has the keys", func() bool {
		known, ca := opened(lost.member.localServer().state.View(), ringOf(t, lost.dir, nil))
		return ca && len(known) >= len(secrets)
	})
	lost.close()
	stolen := ringOf(t, steal(t, lost), nil)
	eventually(t, "the server is removed", func() bool {
		return p.leader().member.Hosts.RemoveHost(t.Context(), lost.cfg.HostID, true) == nil
	})
	p.waitForVoters(3)
	p.rotateSealingKey()
	p.leader().close() // in whatever step it is
	p.waitUntilSealed()
	view := p.view()
	if known, ca := opened(view, stolen); len(known) != 0 || ca {
		t.Errorf("the stolen keys open %d access keys; the CA: %t", len(known), ca)
	}
	ring := ringOf(t, p.leader().dir, nil)
	known, ca := opened(view, ring)
	for id, secret := range secrets {
		if known[id] != secret {
			t.Errorf("access key %s has another secret, or none", id)
		}
	}
	if !ca {
		t.Error("the pool cannot read the key of its CA any more")
	}
	before := sealing.Find(view).Name
	p.createKeys(1)
	p.rotateSealingKey()
	p.waitUntilSealed()
	if after := sealing.Find(p.view()).Name; after == before || !slices.Contains(sealing.Find(p.view()).Retired, before) {
		t.Errorf("the second rotation went from %s to %s", before, after)
	}
}

// resealBatchOfTests is enough keys to see that each is sealed anew; batches have a test of their own.
const resealBatchOfTests = 3

// More secrets than fit into one entry are sealed anew in several.
func TestManySecretsAreSealedAnewInBoundedSteps(t *testing.T) {
	p := newPool(t)
	first := p.found(func(c *MemberConfig) { c.Servers = 1 })
	own := first.member.localServer()
	ca := own.state.View().CA()
	const many = 450
	for i := range many {
		key := accesskey.Key{ID: fmt.Sprintf("AKIA%d", i), Role: accesskey.RoleRead}
		var err error
		if key.Sealed, key.Seal, err = own.accessKeys.Keyring.Seal(key.ID, "secret", ca.Seal); err != nil {
			t.Fatal(err)
		}
		apply(t, own, raftfsm.Wrap(credential.Create{Key: key}))
	}
	before := own.state.View().Index()
	p.rotateSealingKey()
	p.waitUntilSealed()
	entries := own.state.View().Index() - before
	if known, _ := opened(own.state.View(), ringOf(t, first.dir, nil)); len(known) < many || entries < 5 || entries > 20 {
		t.Errorf("%d secrets can be read, after %d entries", len(known), entries)
	}
	late := accesskey.Key{ID: "AKIALATE", Role: accesskey.RoleRead, Sealed: []byte("x"), Seal: ca.Seal}
	if _, err := own.Propose(t.Context(), raftfsm.Wrap(credential.Create{Key: late})); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("a secret under a key that servers have removed: %v", err)
	}
}
