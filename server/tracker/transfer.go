package tracker

import (
	"slices"
	"time"

	"pinion/raftfsm/blob"
)

// transfer is a blob on its way to hosts.
type transfer struct {
	size  int64
	hosts map[string]*fetch // by id
	// whole is the host that fetches all of it from a registry which gives no ranges; empty: none does. single says that it gives none.
	whole  string
	single bool
}

// fetch is what one host has of a blob, and is to fetch from the registry.
type fetch struct {
	seen, grew  time.Time
	have, share blob.Pieces
	leased      map[int]bool
}

// forget drops hosts that have been silent for too long, with what they were to fetch.
func (b *transfer) forget(now time.Time) {
	for id, f := range b.hosts {
		if now.Sub(f.seen) > silence {
			delete(b.hosts, id)
		}
	}
	if f := b.hosts[b.whole]; f == nil || now.Sub(f.grew) > stall {
		b.whole = ""
	}
}

// record takes in what a host says that it has.
func (b *transfer) record(host string, now time.Time, w blob.Want, count int) *fetch {
	f := b.hosts[host]
	if f == nil {
		f = &fetch{grew: now, leased: map[int]bool{}}
		b.hosts[host] = f
	}
	if w.Have.HasOther(f.have) {
		f.grew = now
	}
	f.seen, f.have, f.share = now, w.Have.Of(count), w.Share.Of(count)
	for i := range f.leased {
		if f.have.Has(i) {
			delete(f.leased, i)
		}
	}
	if w.NoRegistry {
		clear(f.leased)
		if b.whole == host {
			b.whole = ""
		}
	}
	b.single = b.single || w.NoRanges
	return f
}

// take are pieces that no host has, and that this one is to fetch: at most as many as it can.
func (b *transfer) take(f *fetch, now time.Time, w blob.Want, count int, available blob.Pieces) (take []int) {
	if b.single || w.NoRegistry {
		return nil
	}
	want := min(w.Take, maxTake)
	for i := 0; i < count && len(take) < want; i++ {
		if f.have.Has(i) || f.leased[i] || available.Has(i) || b.leased(i, now) {
			continue
		}
		f.leased[i] = true
		take = append(take, i)
	}
	return take
}

// coming reports whether another host is fetching something that this one lacks.
func (b *transfer) coming(host string, now time.Time, w blob.Want) bool {
	if b.whole != "" && b.whole != host {
		return true
	}
	for id, f := range b.hosts {
		for piece := range f.leased {
			if id != host && !w.Have.Has(piece) && now.Sub(f.grew) <= stall {
				return true
			}
		}
	}
	return false
}

// leased reports whether a host is fetching the piece, and is getting on.
func (b *transfer) leased(piece int, now time.Time) bool {
	for _, f := range b.hosts {
		if f.leased[piece] && now.Sub(f.grew) <= stall {
			return true
		}
	}
	return false
}

// takeWhole reports whether the host is the one to fetch all that is missing: some of it is nowhere, the registry gives no ranges, and
// no other host is at it.
func (b *transfer) takeWhole(host string, now time.Time, w blob.Want, count int, available blob.Pieces) bool {
	if !b.single || w.NoRegistry || b.whole != "" && b.whole != host {
		return false
	}
	reachable := slices.Clone(available)
	reachable.Merge(w.Have)
	if reachable.Len() == count {
		return false
	}
	if b.whole == "" {
		b.hosts[host].grew = now
	}
	b.whole = host
	return true
}
