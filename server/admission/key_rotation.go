package admission

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/server/seal"
)

// Everything that is sealed moves to another sealing key in steps, each of which any leader goes on with: the state names the new key;
// servers fetch it; when a majority has it, the leader seals the CA anew and then the access keys and what is of ACME, resealBatch at a time; each
// server then removes the keys before from its disk. A server gives away only keys that its own state names (see Shared), and the
// new key is named there after every removal that came before: a removed server never gets it.
const (
	resealBatch    = 200
	resealInterval = 400 * time.Millisecond
	shareTimeout   = 10 * time.Second // until a majority of the servers has fetched a new key
)

// RotateSealingKey begins to replace the sealing key, and returns when a majority of the servers has the new one: from then on every leader
// goes on with it. While a replacement is under way it does nothing, unless this server cannot get the key in question any more.
func (a *AccessKeys) RotateSealingKey(ctx context.Context) error {
	a.rotateMu.Lock()
	defer a.rotateMu.Unlock()
	view, err := a.Server.View(ctx)
	if err != nil {
		return err
	}
	a.FetchKeyring(ctx)
	known := sealing.Find(view)
	if known != nil && !sealing.Outdated(view).Empty() && a.Keyring.Has(known.Name) {
		return nil
	}
	name, err := a.Keyring.Generate()
	if err != nil {
		return err
	}
	retired := append(a.Keyring.Names(), sealsOf(view)...)
	if known != nil {
		retired = append(retired, known.Name)
	}
	slices.Sort(retired)
	retired = slices.DeleteFunc(slices.Compact(retired), func(other string) bool { return other == name })
	_, err = a.Server.Propose(ctx, raftfsm.Wrap(sealing.Rotate{Key: sealing.Key{Name: name, Since: a.Server.Now(), Retired: retired}}))
	if err != nil {
		return err
	}
	return a.awaitShared(ctx, name)
}

// awaitShared returns when a majority of the servers has the key.
func (a *AccessKeys) awaitShared(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	for {
		err := a.checkShared(ctx, name)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(resealInterval):
		case <-ctx.Done():
			return spec.Unavailable(fmt.Sprintf("%v: when more servers are there, run `pinion keys rotate` again", err))
		}
	}
}

// sealsOf are the names of the sealing keys that a state needs.
func sealsOf(view *raftfsm.View) (names []string) {
	if authority := view.CA(); authority != nil {
		names = append(names, authority.Seal)
	}
	for _, key := range credential.All(view) {
		if key.Seal != "" {
			names = append(names, key.Seal)
		}
	}
	for item := range acme.ByKey.All(view) {
		names = append(names, item.Seal)
	}
	names = append(names, secret.Seals(view)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// KeepSealed seals anew what is not sealed with the sealing key, until ctx ends: a loop of the leader.
func (a *AccessKeys) KeepSealed(ctx context.Context, log *slog.Logger) {
	tick := tick.New(resealInterval)
	defer tick.Stop()
	said := ""
	for {
		if err := a.reseal(ctx); err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			log.Warn("secrets cannot be sealed with the new sealing key yet", "reason", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// reseal takes steps until nothing is left to do, or one cannot be taken.
func (a *AccessKeys) reseal(ctx context.Context) error {
	for ctx.Err() == nil {
		view := a.Server.State().View()
		left := sealing.Outdated(view)
		if left.Empty() {
			return nil
		}
		name := sealing.Find(view).Name
		if err := a.checkShared(ctx, name); err != nil {
			return err
		}
		var err error
		switch {
		case left.CA:
			err = a.resealCA(ctx, *view.CA(), name)
		case len(left.AccessKeys) > 0:
			err = a.resealAccessKeys(ctx, left.AccessKeys, name)
		case len(left.ACME) > 0:
			err = a.resealACME(ctx, left.ACME, name)
		default:
			err = a.resealSecrets(ctx, left.Secrets, name)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// checkShared fails until a majority of the servers has the key: then no loss of a minority makes secrets unreadable.
func (a *AccessKeys) checkShared(ctx context.Context, name string) error {
	a.FetchKeyring(ctx)
	if !a.Keyring.Has(name) {
		return fmt.Errorf("sealing key %s: %w; when no other server of the pool has it either, make another one with `pinion keys rotate`", name, seal.ErrNoKey)
	}
	if a.Fetch == nil {
		return nil
	}
	others, have := a.Fetch.Others(), 1
	for _, address := range others {
		if keys, err := a.Fetch.keysOf(ctx, address); err == nil && slices.ContainsFunc(keys, func(raw []byte) bool { return seal.NameOf(raw) == name }) {
			have++
		}
	}
	if servers := len(others) + 1; have <= servers/2 {
		return fmt.Errorf("sealing key %s is on %d of %d servers, a majority is needed", name, have, servers)
	}
	return nil
}

func (a *AccessKeys) resealCA(ctx context.Context, recorded spec.CA, name string) error {
	opened, err := OpenCA(a.Keyring, recorded)
	if err != nil {
		return err
	}
	again := spec.CA{Certificate: opened.Certificate}
	if again.SealedKey, again.Seal, err = a.Keyring.Seal(caSealID, string(opened.Key), name); err != nil {
		return err
	}
	_, err = a.Server.Propose(ctx, raftfsm.Wrap(ca.Put{Authority: again}))
	return err
}

// resealAccessKeys seals a batch of secrets anew. One that cannot be read stays as it is; the error names one of them when there
// are no others.
func (a *AccessKeys) resealAccessKeys(ctx context.Context, keys []*accesskey.Key, name string) (err error) {
	var batch []accesskey.Resealed
	for _, key := range keys {
		secret, unreadable := a.KeySecret(key)
		if unreadable != nil {
			err = unreadable
			continue
		}
		again := accesskey.Resealed{ID: key.ID, From: key.Seal}
		if again.Sealed, again.Seal, err = a.Keyring.Seal(key.ID, secret, name); err != nil {
			return err
		}
		if batch = append(batch, again); len(batch) == resealBatch {
			break
		}
	}
	if len(batch) == 0 {
		return err
	}
	_, err = a.Server.Propose(ctx, raftfsm.Wrap(credential.Reseal{Keys: batch}))
	return err
}

// resealACME seals a batch of items anew. One that cannot be read is deleted: hosts get another certificate.
func (a *AccessKeys) resealACME(ctx context.Context, items []*acme.Item, name string) (err error) {
	again := acme.Put{Resealed: true}
	for _, item := range items[:min(len(items), resealBatch)] {
		value, unreadable := a.Keyring.Open(acmeSealID+item.Key, item.Sealed, item.Seal)
		if unreadable != nil {
			if _, err := a.Server.Propose(ctx, raftfsm.Wrap(acme.Delete{Key: item.Key, PutAt: item.PutAt})); err != nil {
				return err
			}
			continue
		}
		copied := *item
		if copied.Sealed, copied.Seal, err = a.Keyring.Seal(acmeSealID+item.Key, value, name); err != nil {
			return err
		}
		again.Items = append(again.Items, copied)
	}
	if len(again.Items) > 0 {
		_, err = a.Server.Propose(ctx, raftfsm.Wrap(again))
	}
	return err
}

// DropRetired removes from this server's disk the sealing keys that were replaced, once nothing in its state is sealed with them.
func (a *AccessKeys) DropRetired() error {
	view := a.Server.State().View()
	key := sealing.Find(view)
	if key == nil || !sealing.Outdated(view).Empty() || view.CA() == nil || !a.Keyring.Has(key.Name) {
		return nil
	}
	return a.Keyring.Remove(key.Retired...)
}

// Shared are the keys for another server: those that the state here names. Whatever was recorded before that is known here then, the
// removal of the server that asks too.
func (a *AccessKeys) Shared() [][]byte {
	view := a.Server.State().View()
	named := sealsOf(view)
	if key := sealing.Find(view); key != nil {
		named = append(named, key.Name)
	}
	return slices.DeleteFunc(a.Keyring.Keys(), func(raw []byte) bool { return !slices.Contains(named, seal.NameOf(raw)) })
}
