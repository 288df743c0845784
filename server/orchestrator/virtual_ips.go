package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/virtualip"
	"pinion/server/id"
	choice "pinion/server/schedule/virtualip"
)

const (
	// virtualIPInterval is how often the leader looks at the virtual IPs.
	virtualIPInterval = 200 * time.Millisecond
	// moveInterval is the least time between two virtual IPs that are taken from hosts which serve, since others have fewer: connections end with each.
	moveInterval = time.Minute
)

// Leases are the leases of virtual IPs in one leader term.
type Leases interface {
	// StartTerm begins to grant leases, as the assigner with a token that no other has.
	StartTerm(ctx context.Context, token string) error
	EndTerm()
	// Asks reports whether a host asks for an address.
	Asks(hostID, ip string) bool
	// End ends the granting of leases of an epoch, for good, and reports whether none is in force; 0: of an address that the state does not have.
	End(ip string, epoch int64) bool
	// Revoked reports whether no lease of an epoch is granted any more.
	Revoked(ip string, epoch int64) bool
}

// VirtualIPs is the reconciler of virtual IPs: it assigns each to one of the hosts that offer it, and to another one when that one is gone, is
// drained or does not serve, or has two more of them, once the lease of the first has ended. One goroutine uses it.
type VirtualIPs struct {
	Proposer Proposer
	Leases   Leases
	Log      *slog.Logger

	assigner string    // of this term; empty: no lease is granted yet
	moving   string    // the address that is moved to a host with fewer
	moved    time.Time // when that began, or the term
}

// Loop reconciles until ctx ends.
func (v *VirtualIPs) Loop(ctx context.Context) {
	defer v.Leases.EndTerm()
	for backoff.Sleep(ctx, tick.Until(virtualIPInterval)) == nil {
		if err := v.Reconcile(ctx); err != nil && ctx.Err() == nil {
			v.Log.Warn("cannot assign virtual IPs, will try again", "error", err)
		}
	}
}

// begin begins to grant leases once there is an address to grant.
func (v *VirtualIPs) begin(ctx context.Context) error {
	token := id.New()
	err := v.Leases.StartTerm(ctx, token)
	if err == nil {
		v.assigner, v.moved = token, v.Proposer.Now() // the hosts are to be heard of first
	}
	return err
}

// Reconcile takes the next step of each address.
func (v *VirtualIPs) Reconcile(ctx context.Context) error {
	view := v.Proposer.State().View()
	candidates, holds := v.candidates(view), map[string]int{}
	known := virtualip.All(view)
	for _, a := range known {
		if candidates[a.IP] == nil {
			candidates[a.IP] = nil // it is taken from whoever holds it
		}
		holds[a.Holder]++
	}
	if len(candidates) == 0 || view.MayWrite(raftfsm.Wrap(virtualip.BecomeAssigner{})) != nil { // an older server of the pool would not understand it
		return nil
	}
	if v.assigner == "" {
		return v.begin(ctx)
	}
	var failed []error
	for _, ip := range slices.Sorted(maps.Keys(candidates)) {
		a := virtualip.Find(view, ip)
		if a == nil {
			a = &virtualip.Address{IP: ip}
		}
		chosen := choose(candidates[ip], holds, a.Holder)
		if other := choose(candidates[ip], holds, ""); chosen == a.Holder && v.moves(ip, holds[chosen]-holds[other]) {
			chosen = other
		}
		if !v.due(a, chosen) {
			continue
		}
		assign := virtualip.Assign{IP: ip, Holder: chosen, Epoch: a.Epoch + 1, At: v.Proposer.Now().Round(0), Token: v.assigner}
		if _, err := v.Proposer.Propose(ctx, raftfsm.Wrap(assign)); err != nil {
			failed = append(failed, err)
			continue
		}
		holds[a.Holder]--
		holds[chosen]++
		v.Log.Info("a virtual IP is assigned", "ip", ip, "host", nameOf(view, chosen), "previousHost", nameOf(view, a.Holder))
	}
	return errors.Join(failed...)
}

// due reports whether the address is to be assigned to the chosen host now. It takes the address from its holder when that is another one.
func (v *VirtualIPs) due(a *virtualip.Address, chosen string) bool {
	switch {
	case a.Epoch == 0:
		return chosen != "" && v.Leases.End(a.IP, 0)
	case a.Holder == "":
		return chosen != ""
	case chosen == a.Holder && !v.Leases.Revoked(a.IP, a.Epoch):
		return false
	}
	return v.Leases.End(a.IP, a.Epoch)
}

// moves reports whether an address is to leave its holder, which serves, for a host that serves as well and has so many addresses fewer. Two make the
// hosts more equal. It goes on until the lease of the holder has ended.
func (v *VirtualIPs) moves(ip string, fewer int) bool {
	if now := v.Proposer.Now(); fewer >= 2 && now.Sub(v.moved) >= moveInterval {
		v.moving, v.moved = ip, now
	}
	return fewer >= 2 && v.moving == ip
}

// candidates are the hosts that may hold each address that is offered, one without any included.
func (v *VirtualIPs) candidates(view *raftfsm.View) map[string][]*spec.Host {
	all := map[string][]*spec.Host{}
	for _, host := range view.Hosts("") {
		for _, offer := range host.VirtualIPs[:min(len(host.VirtualIPs), iplease.MaxOffers)] {
			if all[offer.IP] == nil {
				all[offer.IP] = []*spec.Host{}
			}
			if host.Status == spec.HostActive && !host.Lost() && offer.Problem == "" && v.Leases.Asks(host.ID, offer.IP) {
				all[offer.IP] = append(all[offer.IP], host)
			}
		}
	}
	return all
}

// choose is the host that is to hold an address.
func choose(hosts []*spec.Host, holds map[string]int, holder string) string {
	var candidates []choice.Candidate
	for _, h := range hosts {
		candidates = append(candidates, choice.Candidate{HostID: h.ID, Problems: len(h.ListenerProblems), Holds: holds[h.ID]})
	}
	return choice.Choose(candidates, holder)
}

func nameOf(view *raftfsm.View, hostID string) string {
	if host := view.Host(hostID); host != nil {
		return host.Name
	}
	return cmp.Or(hostID, "none")
}
