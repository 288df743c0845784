// Package virtualip has the virtual IPs of the pool, each with the host that holds it, how the state keeps them, and the command that changes
// them. Package raftfsm registers both.
package virtualip

import (
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Address is a virtual IP: an address that one host of the pool at a time has beside its own.
type Address struct {
	IP     string    `json:"ip"`               // as netip.Addr prints it
	Holder string    `json:"holder,omitempty"` // id of the host that may have it, while the leader renews its lease; empty: none
	Epoch  int64     `json:"epoch"`            // +1 with each Assign: a lease is of one epoch
	At     time.Time `json:"at"`               // of the latest Assign, by the clock of the leader
}

// Assigner is the leader that assigns virtual IPs. There is one.
type Assigner struct {
	Token string `json:"token"` // of its Lead
}

// Assigners has the one record of the assigner.
var Assigners = table.By(func(*Assigner) string { return "" })

// assigner is the one; nil: no leader has assigned any.
func assigner(r table.Reader) *Assigner { return Assigners.Get(r, sortkey.Key{}) }

// Max bounds the virtual IPs of a pool.
const Max = 256

// ByIP has every virtual IP.
var ByIP = table.By(func(a *Address) string { return a.IP })

// Find returns a virtual IP; nil when no host was ever assigned it.
func Find(r table.Reader, ip string) *Address { return ByIP.Get(r, sortkey.Key{First: ip}) }

// All lists the virtual IPs, by address.
func All(r table.Reader) []*Address { return slices.Collect(ByIP.All(r)) }

// Holder is the id of the host that may have the address; empty: none.
func Holder(r table.Reader, ip string) string {
	if a := Find(r, ip); a != nil {
		return a.Holder
	}
	return ""
}

// Expired visits those that nobody holds or offers. While a host offers an address its epochs go on: the host remembers those that it gave up.
func Expired(v command.View, before time.Time) iter.Seq[*Address] {
	return ByIP.Matching(v, func(a *Address) bool {
		return a.Holder == "" && a.At.Before(before) && !slices.ContainsFunc(v.Hosts(""), func(h *spec.Host) bool { return h.VirtualIP(a.IP) != nil })
	})
}
