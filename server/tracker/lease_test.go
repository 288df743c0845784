package tracker

import (
	"fmt"
	"testing"
	"time"

	"pinion/raftfsm/blob"
)

// asks has a host say for a while what a function of the seconds says, beside two others which fetch and share at once what they are to fetch, but
// nothing from one another. It returns how long these took for the blob.
func (s *simulation) asks(evil string, says func(second int, granted blob.Sources) blob.Want) (whole time.Duration) {
	began := s.now
	var granted blob.Sources
	count := blob.Count(s.size)
	for second := range 3600 {
		w := says(second, granted)
		w.Digest, w.Size = digest, s.size
		granted = s.tracker.AnswerHost(evil, s.now, blob.Request{Wants: []blob.Want{w}}).Grants[0]
		brought := blob.NewPieces(count)
		for id, h := range s.hosts {
			if id == evil {
				continue
			}
			grant := s.tracker.AnswerHost(id, s.now, blob.Request{Wants: []blob.Want{{Digest: digest, Size: s.size, Have: h.have, Share: h.share, Take: 16}}}).Grants[0]
			for _, piece := range grant.Take {
				h.have.Add(piece)
				h.share.Add(piece)
			}
			if grant.Whole {
				h.have, h.share = blob.AllPieces(count), blob.AllPieces(count)
			}
			brought.Merge(h.have)
		}
		if brought.Len() == count {
			return s.now.Sub(began)
		}
		s.now = s.now.Add(time.Second)
	}
	return s.now.Sub(began)
}

// Whatever a host says that it has, and whatever it takes, the others get all of the blob soon.
func TestAHostThatBringsNothingKeepsNoPieceFromOthers(t *testing.T) {
	const pieces = 203
	pastTheEnd := func(second int) blob.Pieces {
		return append(blob.NewPieces(pieces), byte(second), byte(second>>8))
	}
	for name, says := range map[string]func(second int, granted blob.Sources) blob.Want{
		"takes all that it can":   func(int, blob.Sources) blob.Want { return blob.Want{Take: 1000} },
		"has pieces past the end": func(second int, _ blob.Sources) blob.Want { return blob.Want{Take: 16, Have: pastTheEnd(second)} },
		"has pieces in the last byte": func(second int, _ blob.Sources) blob.Want {
			return blob.Want{Take: 16, Have: append(make(blob.Pieces, 25), byte(second)<<3)}
		},
		"has what nobody was to fetch": func(second int, _ blob.Sources) blob.Want {
			return blob.Want{Take: 16, Have: append(make(blob.Pieces, 24), byte(second))}
		},
		"gives up, and takes again":      func(second int, _ blob.Sources) blob.Want { return blob.Want{Take: 16, NoRegistry: second%50 == 49} },
		"says that there are no ranges":  func(int, blob.Sources) blob.Want { return blob.Want{NoRanges: true} },
		"is to fetch all, has past ends": func(second int, _ blob.Sources) blob.Want { return blob.Want{NoRanges: true, Have: pastTheEnd(second)} },
		"gives up all, and takes again": func(second int, _ blob.Sources) blob.Want {
			return blob.Want{NoRanges: true, NoRegistry: second%50 == 49}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulation(pieces, 3)
			if took := s.asks("host-0", says); took > 2*stall {
				t.Errorf("the other hosts have the blob after %v", took)
			}
		})
	}
}

func TestAHostHasABoundedNumberOfLeases(t *testing.T) {
	s := newSimulation(203, 1)
	taken := 0
	for range 40 {
		taken += len(s.tracker.AnswerHost("host-0", s.now, blob.Request{Wants: []blob.Want{{Digest: digest, Size: s.size, Take: 16}}}).Grants[0].Take)
	}
	if taken != maxLeases {
		t.Errorf("the host is to fetch %d pieces at once", taken)
	}
}

// A host that lets a lease run out fetches by itself, and has none of the blob again, also when it was away meanwhile.
func TestAHostThatLetsALeaseRunOutGetsNone(t *testing.T) {
	s := newSimulation(203, 2)
	ask := func(id string, take int) blob.Sources {
		return s.tracker.AnswerHost(id, s.now, blob.Request{Wants: []blob.Want{{Digest: digest, Size: s.size, Take: take}}}).Grants[0]
	}
	ask("host-0", 16)
	for range leaseTime/(5*time.Second) + 1 {
		s.now = s.now.Add(5 * time.Second)
		ask("host-0", 0)
		ask("host-1", 0)
	}
	for range 2 {
		s.now = s.now.Add(5 * time.Second)
		ask("host-1", 0)
	}
	s.now = s.now.Add(5 * time.Second)
	if got := ask("host-0", 16); len(got.Take) != 0 || !got.Whole {
		t.Errorf("the host is to fetch %v for others", got.Take)
	}
	if got := ask("host-1", 16); len(got.Take) != 16 || got.Take[0] != 0 {
		t.Errorf("the other host is to fetch %v", got.Take)
	}
}

// Eight blobs at once on a link of 1 MB/s, sixteen pieces of 4 MiB of each, bring a piece of this one every 34 seconds.
func TestASlowHostKeepsItsLeases(t *testing.T) {
	const pieces = 203
	s := newSimulation(pieces, 2)
	have := blob.NewPieces(pieces)
	var leased []int
	for have.Len() < 40 {
		w := blob.Want{Digest: digest, Size: s.size, Have: have, Share: have, Take: max(0, 16-len(leased))}
		grant := s.tracker.AnswerHost("host-0", s.now, blob.Request{Wants: []blob.Want{w}}).Grants[0]
		leased = append(leased, grant.Take...)
		if grant.Whole || len(leased) != 16 {
			t.Fatalf("after %v, with %d pieces, the host is to fetch %d", s.now.Sub(time.Unix(1, 0)), have.Len(), len(leased))
		}
		for _, piece := range s.tracker.AnswerHost("host-1", s.now, blob.Request{Wants: []blob.Want{{Digest: digest, Size: s.size, Take: 1000}}}).Grants[0].Take {
			if have.Has(piece) || len(leased) > 0 && piece >= leased[0] && piece <= leased[len(leased)-1] {
				t.Fatalf("another host is to fetch piece %d of it, too", piece)
			}
		}
		if int(s.now.Unix()-1)%34 == 33 {
			have.Add(leased[0])
			leased = leased[1:]
		}
		s.now = s.now.Add(time.Second)
	}
}

// A host that has lost what it had, because the image was removed or the pull failed, is to fetch it again at once, and nobody waits for it.
func TestAHostThatBeginsAnewIsGivenItsPiecesAgain(t *testing.T) {
	const pieces = 5
	s := newSimulation(pieces, 2)
	ask := func(id string, have blob.Pieces) blob.Sources {
		return s.tracker.AnswerHost(id, s.now, blob.Request{Wants: []blob.Want{{Digest: digest, Size: s.size, Have: have, Take: 16}}}).Grants[0]
	}
	if got := ask("host-0", nil); len(got.Take) != pieces {
		t.Fatalf("at first it is to fetch %v", got.Take)
	}
	ask("host-0", blob.AllPieces(pieces))
	if got := ask("host-0", nil); len(got.Take) != pieces {
		t.Errorf("then it is to fetch %v", got.Take)
	}
	if got := ask("host-1", nil); len(got.Take) != pieces || got.Coming {
		t.Errorf("the other host is to fetch %v and to wait: %t", got.Take, got.Coming)
	}
}

// However many hosts fetch a blob, the registry is asked for as many of its pieces at a time as by one of them: over one link, many at once all come late.
func TestManyHostsAskARegistryForNoMoreAtOnce(t *testing.T) {
	const pieces, hosts = 203, 16
	s := newSimulation(pieces, hosts)
	taken := map[string][]int{}
	ask := func() (all int) {
		for i := range hosts {
			id := fmt.Sprintf("host-%d", i)
			have := blob.NewPieces(pieces)
			for _, piece := range taken[id] {
				have.Add(piece)
			}
			taken[id] = append(taken[id], s.tracker.AnswerHost(id, s.now, blob.Request{Wants: []blob.Want{{Digest: digest, Size: s.size, Have: have, Share: have, Take: 16}}}).Grants[0].Take...)
			all += len(taken[id])
		}
		s.now = s.now.Add(time.Second)
		return all
	}
	before := 0
	for before < pieces {
		now := ask()
		if now-before > maxLeases || now == before {
			t.Fatalf("%d pieces are fetched, then %d", before, now)
		}
		before = now
	}
}
