package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
	"pinion/server/pki"
)

// The pool's CA moves to another root in steps, each of which any leader goes on with. One entry records the new root with a cross
// certificate (its key, signed by the root before): from then on the leader signs with it. Hosts are told both roots with the pool info,
// ask for certificates of the new one, and say when they use them. When all do, the leader has hosts drop the root before. Clients that know
// only that verify hosts by the cross certificate, until it ends.
const (
	rotationInterval = 400 * time.Millisecond
	// overlapLimit is when nothing of a root is left in any case: no certificate that it signed is valid any more.
	overlapLimit = 31 * 24 * time.Hour
	// forcedWait is how long a forced rotation waits for hosts that are connected and do not renew their certificates.
	forcedWait = 5 * time.Minute
)

// RotateCA puts another root in the place of the one that signs, and returns when that is recorded. While hosts take certificates of the root
// before it makes no other. force ends the old root as soon as the connected hosts have renewed their certificates, for hosts that are
// away and for clients too; also in a rotation that is under way.
func (a *Authority) RotateCA(ctx context.Context, force bool) error {
	a.rotateMu.Lock()
	defer a.rotateMu.Unlock()
	view, err := a.Server.View(ctx)
	if err != nil {
		return err
	}
	signing, err := a.CA()
	if err != nil {
		return err
	}
	recorded := view.CA()
	if recorded.Overlap.Trusted {
		if force {
			err = a.narrow(ctx, recorded, func(o *spec.CAOverlap) { o.Forced, o.Withdrawn = true, true })
		}
		return err
	}
	now := a.Server.Now()
	made, overlap, err := pki.NewCA(signing, now)
	if err != nil {
		return err
	}
	overlap.Forced, overlap.Withdrawn = force, force || overlap.Withdrawn
	next := spec.CA{Certificate: made.Certificate, Since: now, Overlap: overlap}
	if next.SealedKey, next.Seal, err = a.Keyring.Seal(caSealID, string(made.Key), recorded.Seal); err != nil {
		return err
	}
	_, err = a.Server.Propose(ctx, raftfsm.Wrap(ca.Rotate{CA: next, From: recorded.Certificate}))
	if err == nil {
		a.Log.Info("the pool's CA has a new root", "root", pki.FingerprintOf(next.Certificate), "previous", pki.FingerprintOf(recorded.Certificate), "forced", force)
	}
	return err
}

func (a *Authority) narrow(ctx context.Context, recorded *spec.CA, change func(*spec.CAOverlap)) error {
	to := recorded.Overlap
	change(&to)
	_, err := a.Server.Propose(ctx, raftfsm.Wrap(ca.NarrowOverlap{Certificate: recorded.Certificate, To: to}))
	return err
}

// KeepRotating takes the steps that are left of a rotation, until ctx ends: a loop of the leader.
func (a *Authority) KeepRotating(ctx context.Context) {
	tick := tick.New(rotationInterval)
	defer tick.Stop()
	for {
		if err := a.dropRoot(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, spec.ErrUnavailable) {
			a.Log.Warn("the previous root of the pool's CA cannot be removed yet", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// dropRoot takes away what nothing depends on any more.
func (a *Authority) dropRoot(ctx context.Context) error {
	view := a.Server.State().View()
	ca := view.CA()
	if ca == nil || ca.Overlap.IsEmpty() {
		return nil
	}
	age := a.Server.Now().Sub(ca.Since)
	if age > overlapLimit {
		return a.narrow(ctx, ca, func(o *spec.CAOverlap) { *o = spec.CAOverlap{} })
	}
	if !ca.Overlap.Trusted || !a.mayDrop(view, ca, age) {
		return nil
	}
	err := a.narrow(ctx, ca, func(o *spec.CAOverlap) { o.Trusted = false })
	if err == nil {
		a.Log.Info("all hosts have dropped the previous root of the pool's CA", "root", pki.FingerprintOf(ca.Overlap.Previous))
	}
	return err
}

// mayDrop reports whether every host that is waited for has a certificate of the root that signs.
func (a *Authority) mayDrop(view *raftfsm.View, ca *spec.CA, age time.Duration) bool {
	for _, host := range view.HostsNotOn(pki.FingerprintOf(ca.Certificate)) {
		if !ca.Overlap.Forced || age < forcedWait && a.Connected(host.ID) {
			return false
		}
	}
	return true
}

var rootName = lazyregexp.New(`^[0-9a-f]{64}$`)

// RecordRoot records that a host has a certificate of a root in use.
func (a *Authority) RecordRoot(ctx context.Context, hostID, root string) error {
	if !rootName.MatchString(root) {
		return fmt.Errorf("host %s has a certificate of the root %.70q: that is no SHA-256", hostID, root)
	}
	_, err := a.Server.Propose(ctx, raftfsm.RecordHostRoot{HostID: hostID, Root: root})
	return err
}
