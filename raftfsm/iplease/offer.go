// Package iplease has the words in which a host and the leader speak of the virtual IPs of the pool: what a host offers to hold, and the lease
// under which it holds it.
package iplease

import (
	"fmt"
	"net/netip"
	"time"
)

// Offer is an address that a host offers to hold for the pool (`pinion up --virtual-ip`). Which of the hosts that offer it holds it, the
// leader decides; see package virtualip.
type Offer struct {
	IP      string `json:"ip"`                // as netip.Addr prints it
	Bits    int    `json:"bits"`              // of the network that it is in, of which the host has an address of its own
	Device  string `json:"device,omitempty"`  // that gets it; empty: the one with an address in the network
	Problem string `json:"problem,omitempty"` // why the host cannot hold it now, and what to do; empty: it can
}

// MaxOffers bounds the addresses that a host may offer.
const MaxOffers = 4

// The times of a lease. The leader counts a lease as over Margin after its end: the kernel removes an address up to 1.25 s late, and
// no two clocks run equally fast. Neither is ever made longer: a leader of an earlier version waits for as long as it knows.
const (
	Duration = 4 * time.Second
	Margin   = 2 * time.Second
)

// Network is the network that the address is in.
func (o Offer) Network() netip.Prefix {
	ip, _ := netip.ParseAddr(o.IP)
	return netip.PrefixFrom(ip, o.Bits).Masked()
}

// String is the address as it is given to `pinion up`.
func (o Offer) String() string {
	text := fmt.Sprintf("%s/%d", o.IP, o.Bits)
	if o.Device != "" {
		text += "@" + o.Device
	}
	return text
}

// Check refuses what no host can hold for others: an address of no network, of every machine, or of many.
func Check(o Offer) error {
	ip, err := netip.ParseAddr(o.IP)
	switch network := netip.PrefixFrom(ip, o.Bits); {
	case err != nil || ip.String() != o.IP || ip.Zone() != "" || ip.Is4In6():
		return fmt.Errorf("%q is not an IP address", o.IP)
	case !ip.IsGlobalUnicast():
		return fmt.Errorf("%s is not an address that one machine can have in a network", o.IP)
	case !network.IsValid() || o.Bits < 1 || o.Bits >= ip.BitLen():
		return fmt.Errorf("%s/%d names no network of several addresses", o.IP, o.Bits)
	case ip == network.Masked().Addr():
		return fmt.Errorf("%s is the address of the network %s itself", o.IP, network.Masked())
	}
	return nil
}

// Request is the question of a host that offers an address to the leader, again and again: whether it holds it. It is never in the log.
type Request struct {
	IP     string `json:"ip"`
	Starts int64  `json:"starts"` // Host.Starts of the process that asks
	// Held is the epoch under which the host has the address now; 0: it has it not.
	Held int64 `json:"held,omitempty"`
	// Released is the latest epoch that this process has given up: it has removed the address, and never takes it again under that epoch.
	// What is said once stays true, so it does not matter when it is heard.
	Released int64 `json:"released,omitempty"`
}

// Answer is the leader's answer.
type Answer struct {
	// Epoch is that under which the host holds the address, for Duration from when it has asked; 0: it does not.
	Epoch int64 `json:"epoch,omitempty"`
	// Elsewhere says that another host of the pool has the address.
	Elsewhere bool `json:"elsewhere,omitempty"`
}
