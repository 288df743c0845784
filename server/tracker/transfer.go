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
	// whole is the host that fetches all of it from a registry which gives no ranges; empty: none does.
	whole string
	// barred are the hosts that have let a lease run out. They fetch by themselves, and what they say holds up nobody.
	barred map[string]bool
}

// fetch is what one host has of a blob, and is to fetch from the registry.
type fetch struct {
	seen, grew  time.Time // grew: when it brought a piece last that it was to fetch
	have, share blob.Pieces
	leased      map[int]time.Time // since when it is to fetch a piece
	given       map[int]bool      // that it was to fetch at any time
	most        int               // pieces that it has said to have at once
	noRanges    bool              // its registry gives none
}

// forget drops hosts that have been silent for too long, with what they were to fetch.
func (b *transfer) forget(now time.Time) {
	for id, f := range b.hosts {
		if now.Sub(f.seen) > silence {
			delete(b.hosts, id)
		}
	}
	if f := b.hosts[b.whole]; b.whole != "" && f != nil && now.Sub(f.grew) > b.scaled(stall) {
		b.bar(b.whole)
	} else if f == nil {
		b.whole = ""
	}
}

// scaled is a time for a piece of 4 MiB, the smallest, for one of this blob.
func (b *transfer) scaled(d time.Duration) time.Duration {
	return d * time.Duration(blob.PieceSize(b.size)/blob.PieceSize(1))
}

// bar has a host fetch by itself from now on.
func (b *transfer) bar(host string) {
	b.barred[host] = true
	clear(b.hosts[host].leased)
	if b.whole == host {
		b.whole = ""
	}
}

// single reports whether the registry gives no ranges, by what a host says that is not barred.
func (b *transfer) single() bool {
	for id, f := range b.hosts {
		if f.noRanges && !b.barred[id] {
			return true
		}
	}
	return false
}

// record takes in what a host says that it has.
func (b *transfer) record(host string, now time.Time, w blob.Want, count int) *fetch {
	f := b.hosts[host]
	if f == nil {
		f = &fetch{grew: now, leased: map[int]time.Time{}, given: map[int]bool{}}
		b.hosts[host] = f
	}
	f.seen, f.have, f.share, f.noRanges = now, w.Have.Truncate(count), w.Share.Truncate(count), w.NoRanges
	b.advance(host, f, now)
	if w.NoRegistry && (len(f.leased) > 0 || b.whole == host) {
		b.bar(host)
	}
	return f
}

// advance takes in which of its pieces a host has brought. It is given each once, so that it cannot bring, or give up, one again and again.
func (b *transfer) advance(host string, f *fetch, now time.Time) {
	for i, since := range f.leased {
		switch {
		case f.have.Has(i):
			delete(f.leased, i)
			f.grew = now
		case now.Sub(since) > b.scaled(leaseTime):
			b.bar(host)
			return
		}
	}
	if n := f.have.Len(); n > f.most {
		if f.most = n; b.whole == host {
			f.grew = now
		}
	}
	if f.noRanges {
		clear(f.leased) // it gets none of them
	}
}

// take are pieces that no host has, and that this one is to fetch: at most as many as it can. One that it was given before, and has lost since, it gets
// without a lease: nobody waits for it again.
func (b *transfer) take(f *fetch, now time.Time, w blob.Want, count int, available blob.Pieces) (take []int) {
	if b.single() || w.NoRegistry {
		return nil
	}
	want := min(w.Take, maxTake, maxLeases-b.underWay(f, now))
	if len(f.leased) == 0 {
		f.grew = now // it has kept nobody waiting until now
	}
	for i := 0; i < count && len(take) < want; i++ {
		if f.have.Has(i) || available.Has(i) || b.leased(i, now) {
			continue
		}
		if !f.given[i] {
			f.leased[i], f.given[i] = now, true
		}
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
			if id != host && !w.Have.Has(piece) && now.Sub(f.grew) <= b.scaled(stall) {
				return true
			}
		}
	}
	return false
}

// underWay counts the pieces that hosts are to fetch and are getting on with, and all that one of them is to fetch.
func (b *transfer) underWay(one *fetch, now time.Time) (n int) {
	for _, f := range b.hosts {
		if f == one || now.Sub(f.grew) <= b.scaled(stall) {
			n += len(f.leased)
		}
	}
	return n
}

// leased reports whether a host is fetching the piece, and is getting on.
func (b *transfer) leased(piece int, now time.Time) bool {
	for _, f := range b.hosts {
		if _, its := f.leased[piece]; its && now.Sub(f.grew) <= b.scaled(stall) {
			return true
		}
	}
	return false
}

// takeWhole reports whether the host is the one to fetch all that is missing: some of it is nowhere, the registry gives no ranges, and
// no other host is at it.
func (b *transfer) takeWhole(host string, now time.Time, w blob.Want, count int, available blob.Pieces) bool {
	if !b.single() || w.NoRegistry || b.whole != "" && b.whole != host {
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
