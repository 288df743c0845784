// Package rollout decides which hosts of a pool get another program next. It is pure: what is known of the hosts goes in, what to do comes out, and
// whoever carries it out may end at any time and ask anew, with what the hosts say then.
package rolling

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is what a host is in its pool.
type Role int

// Roles, in the order in which hosts get the program.
const (
	Agent  Role = iota
	Server      // it votes; also one that is about to
	Leader
)

// State is how far a host is.
type State int

// States of a host.
const (
	Pending  State = iota // it has another program, and nothing is under way
	UnderWay              // it was asked, and has not said how that has ended
	Done                  // it has the program, and has said that it works
	Failed                // it has not: see Reason
	Left                  // it is none of the hosts that get the program
)

// Host is what is known of one host of the pool.
type Host struct {
	ID, Name  string
	Role      Role
	State     State
	Connected bool   // it is in contact with the pool
	Problem   string // that it did not have before the upgrade of the pool began; empty: none
	Reason    string // why it has Failed
	// Steady is for how long a host that is Done has run the program in one process, in contact and without a Problem.
	Steady time.Duration
	// Behind is how many entries of the pool's log a server has not applied, of those that the leader had applied when the last step ended: 0 of an agent,
	// and of a server of a version that does not say; Unknown until it is known.
	Behind int64
}

// Unknown is the Behind of a server that is yet to say how far it is.
const Unknown = -1

// Behind returns how many entries a server lags behind the leader's applied index. nil means a version that does not report its index.
func Behind(applied, leader *uint64) int64 {
	if applied == nil || leader == nil || *applied >= *leader {
		return 0
	}
	return int64(*leader - *applied)
}

// Pace is how fast an upgrade goes on.
type Pace struct {
	Step  int           // agents at a time; less than 1 is 1
	Dwell time.Duration // how long the hosts of a step have to be Steady before the next one begins
}

// Verdict is what a decision is.
type Verdict int

// Verdicts.
const (
	Wait   Verdict = iota
	Start          // the hosts of Decision.Start
	Finish         // all that were to have the program have it, and are well
	Stop           // a host has failed: nothing goes on by itself
)

// Decision is what to do next.
type Decision struct {
	Verdict Verdict
	Start   []string // ids
	Why     string   // for people: what is waited for, or which host has failed and why
	Failed  string   // id of the host that has
}

// Next decides. Agents come first, step of them at a time, and the first host of all alone, so that a program that works nowhere is tried once. Then come the
// servers one by one, the leader last. Nothing starts before everything that has the program has been back and well for the dwell, the pool has a leader, and every
// server is in contact and has caught up with it: one that is there and lacks entries does not count for a majority yet. A host that has failed stops all of it,
// once nothing is under way any more.
func Next(hosts []Host, pace Pace) Decision {
	hosts = slices.SortedFunc(slices.Values(hosts), func(a, b Host) int { return strings.Compare(a.Name+" "+a.ID, b.Name+" "+b.ID) })
	if busy := having(hosts, func(h Host) bool { return h.State == UnderWay }); len(busy) > 0 {
		return Decision{Why: names(busy) + " under way"}
	}
	if failed := having(hosts, func(h Host) bool { return h.State == Failed }); len(failed) > 0 {
		return Decision{Verdict: Stop, Why: failed[0].Reason, Failed: failed[0].ID}
	}
	if why := unwell(hosts, pace.Dwell); why != "" {
		return Decision{Why: why}
	}
	pending := having(hosts, func(h Host) bool { return h.State == Pending })
	if len(pending) == 0 {
		return Decision{Verdict: Finish}
	}
	role := pending[0].Role
	for _, h := range pending {
		role = min(role, h.Role)
	}
	first := !slices.ContainsFunc(hosts, func(h Host) bool { return h.State == Done && h.Role == Agent })
	step := pace.Step
	if role != Agent || first {
		step = 1
	}
	next := having(pending, func(h Host) bool { return h.Role == role })
	next = next[:min(max(step, 1), len(next))]
	d := Decision{Verdict: Start, Why: names(next) + " next"}
	for _, h := range next {
		d.Start = append(d.Start, h.ID)
	}
	return d
}

// unwell says why nothing may start now; empty: it may.
func unwell(hosts []Host, dwell time.Duration) string {
	if !slices.ContainsFunc(hosts, func(h Host) bool { return h.Role == Leader && h.Connected }) {
		return "the pool has no leader"
	}
	for _, h := range hosts {
		watched := h.Role != Agent || h.State == Done || h.State == Pending
		switch {
		case watched && !h.Connected:
			return h.Name + " is not in contact with the pool"
		case h.State == Done && h.Problem != "":
			return fmt.Sprintf("%s is not well: %s", h.Name, h.Problem)
		}
	}
	for _, h := range hosts { // what passes by itself comes behind what somebody has to mend
		switch {
		case h.Role != Agent && h.Behind != 0:
			return h.Name + " has not applied all that the leader had when the last step ended"
		case h.State == Done && h.Steady < dwell:
			return fmt.Sprintf("%s has not been well for %s yet", h.Name, dwell)
		}
	}
	return ""
}

func having(hosts []Host, is func(Host) bool) (found []Host) {
	for _, h := range hosts {
		if is(h) {
			found = append(found, h)
		}
	}
	return found
}

func names(hosts []Host) string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.Name)
	}
	return strings.Join(all, ", ")
}
