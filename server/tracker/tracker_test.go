package tracker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/blob"
)

const digest = "sha256:layer"

// simulation is a pool whose hosts fetch one blob; time passes in it as the test says.
type simulation struct {
	tracker *Tracker
	now     time.Time
	size    int64
	hosts   map[string]*simulatedHost
	gone    map[string]bool
	fetched map[int]int // piece -> how often the registry gave it
}

type simulatedHost struct {
	have, share blob.Pieces
	taking      []int
	epoch       string
	whole       bool
}

func newSimulation(pieces, hosts int) *simulation {
	s := &simulation{now: time.Unix(1, 0), size: int64(pieces) * blob.PieceSize(1), hosts: map[string]*simulatedHost{}, gone: map[string]bool{}, fetched: map[int]int{}}
	s.tracker = New(Config{Connected: func() []string { return nil }, Kept: func(string) *blob.Images { return nil }, Address: func(id string) string {
		if s.gone[id] {
			return ""
		}
		return id + ":7400"
	}})
	for i := range hosts {
		s.hosts[fmt.Sprintf("host-%d", i)] = &simulatedHost{have: blob.NewPieces(pieces), share: blob.NewPieces(pieces)}
	}
	return s
}

// A host that says that it has more pieces than the blob makes a server keep no more than these.
func TestASetOfPiecesIsNoLongerThanItsBlob(t *testing.T) {
	const pieces = 9
	s := newSimulation(pieces, 1)
	long := make(blob.Pieces, 1<<20)
	s.tracker.AnswerHost("host-0", s.now, blob.Request{Full: true, Wants: []blob.Want{{Digest: digest, Size: s.size, Have: long, Share: long}}})
	for _, f := range s.tracker.blobs[digest].hosts {
		if most := len(blob.NewPieces(pieces)); cap(f.have) > 8*most || cap(f.share) > 8*most {
			t.Errorf("%d and %d bytes are kept of %d pieces", cap(f.have), cap(f.share), pieces)
		}
	}
}

// step has one host ask, fetch what it is to fetch but for one piece, and copy what others have.
func (s *simulation) step(id string, r *rand.Rand) blob.Sources {
	h := s.hosts[id]
	want := blob.Want{Digest: digest, Size: s.size, Have: h.have, Share: h.share, Take: max(0, 4-len(h.taking))}
	request := blob.Request{Epoch: h.epoch, Full: h.epoch == "", Wants: []blob.Want{want}}
	if h.whole {
		request.Full, request.Held = true, []string{digest}
	}
	answer := s.tracker.AnswerHost(id, s.now, request)
	h.epoch = answer.Epoch
	grant := answer.Grants[0]
	h.taking = append(h.taking, grant.Take...)
	for len(h.taking) > r.IntN(2) {
		piece := h.taking[0]
		h.taking = h.taking[1:]
		s.fetched[piece]++
		h.have.Add(piece)
		h.share.Add(piece)
	}
	for _, p := range grant.Peers {
		for i := range blob.Count(s.size) {
			if p.Has.Has(i) && !s.hosts[p.Host].have.Has(i) {
				panic("a peer is named for a piece that it does not have")
			}
			if p.Has.Has(i) && r.IntN(3) > 0 {
				h.have.Add(i)
			}
		}
	}
	h.whole = h.have.Len() == blob.Count(s.size)
	return grant
}

// run steps all hosts that are not gone, in any order, until they have the blob.
func (s *simulation) run(t *testing.T, r *rand.Rand) {
	t.Helper()
	for range 1000 {
		missing := 0
		for _, i := range r.Perm(len(s.hosts)) {
			id := fmt.Sprintf("host-%d", i)
			if s.gone[id] {
				continue
			}
			if !s.hosts[id].whole {
				missing++
			}
			s.step(id, r)
		}
		if missing == 0 {
			return
		}
		s.now = s.now.Add(time.Second)
	}
	t.Fatal("some hosts never get the blob")
}

// Whatever the order in which hosts ask, and whoever has which piece, the registry gives each piece once.
func TestARegistryGivesEachPieceOnce(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		pieces := 1 + r.IntN(40)
		s := newSimulation(pieces, 1+r.IntN(16))
		s.run(t, r)
		for i := range pieces {
			if s.fetched[i] != 1 {
				t.Fatalf("seed %d: piece %d of %d came from the registry %d times", seed, i, pieces, s.fetched[i])
			}
		}
	}
}

// A host that vanishes takes with it what it alone had, and nothing else is fetched again.
func TestWhatAVanishedHostWasToFetchIsGivenToOthers(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := newSimulation(32, 8)
		for range 3 {
			for id := range s.hosts {
				s.step(id, r)
			}
			s.now = s.now.Add(time.Second)
		}
		s.gone["host-0"] = true
		lost := s.hosts["host-0"].share.Len() + len(s.hosts["host-0"].taking)
		s.run(t, r)
		again := 0
		for _, times := range s.fetched {
			again += times - 1
		}
		if again > lost {
			t.Fatalf("seed %d: %d pieces were fetched again, the host had %d", seed, again, lost)
		}
	}
}

func TestAHostThatStallsKeepsNoPieceFromOthers(t *testing.T) {
	s := newSimulation(4, 2)
	ask := func(id string, take int) blob.Sources {
		h := s.hosts[id]
		return s.tracker.AnswerHost(id, s.now, blob.Request{Full: true, Wants: []blob.Want{{Digest: digest, Size: s.size, Have: h.have, Take: take}}}).Grants[0]
	}
	if got := ask("host-0", 4); len(got.Take) != 4 {
		t.Fatalf("the first host is to take %v", got.Take)
	}
	for range 59 { // it says that it is there, and brings nothing
		s.now = s.now.Add(time.Second)
		ask("host-0", 0)
		if got := ask("host-1", 4); len(got.Take) != 0 {
			t.Fatalf("after %v the second host is to take %v", s.now.Sub(time.Unix(1, 0)), got.Take)
		}
	}
	s.now = s.now.Add(2 * time.Second)
	ask("host-0", 0)
	if got := ask("host-1", 4); len(got.Take) != 4 {
		t.Fatalf("the second host is to take %v", got.Take)
	}
}

func TestARegistryWithoutRangesIsAskedByOneHostAtATime(t *testing.T) {
	s := newSimulation(4, 3)
	ask := func(id string) bool {
		h := s.hosts[id]
		return s.tracker.AnswerHost(id, s.now, blob.Request{Full: true, Wants: []blob.Want{{Digest: digest, Size: s.size, Have: h.have, Share: h.share, Take: 1, NoRanges: true}}}).Grants[0].Whole
	}
	if !ask("host-0") || ask("host-1") || ask("host-2") || !ask("host-0") {
		t.Fatal("not exactly the first host is to fetch the blob")
	}
	s.now = s.now.Add(silence + time.Second)
	if !ask("host-2") || ask("host-1") {
		t.Fatal("when the first host is silent, not exactly one other takes over")
	}
	s.hosts["host-2"].have, s.hosts["host-2"].share = blob.AllPieces(4), blob.AllPieces(4)
	ask("host-2")
	s.now = s.now.Add(time.Second)
	if ask("host-1") {
		t.Fatal("a host is to fetch what another one has")
	}
}

func TestPeersAreThoseThatCanHelp(t *testing.T) {
	s := newSimulation(2, 4)
	ask := func(id string, r blob.Request) blob.Answer { return s.tracker.AnswerHost(id, s.now, r) }
	holder := ask("host-0", blob.Request{Full: true, Held: []string{digest}})
	want := []blob.Want{{Digest: digest, Size: s.size}}
	peersOf := func(id string, wants []blob.Want) (ids []string) {
		for _, p := range ask(id, blob.Request{Full: true, Wants: wants}).Grants[0].Peers {
			ids = append(ids, p.Host)
		}
		return ids
	}
	if got := peersOf("host-1", want); !slices.Equal(got, []string{"host-0"}) {
		t.Errorf("peers are %v", got)
	}
	if got := peersOf("host-0", want); len(got) != 0 {
		t.Errorf("a host is named to itself: %v", got)
	}
	if got := peersOf("host-1", []blob.Want{{Digest: digest, Size: s.size, Have: blob.AllPieces(2)}}); len(got) != 0 {
		t.Errorf("a host that lacks nothing is named %v", got)
	}
	avoiding := ask("host-1", blob.Request{Full: true, Wants: []blob.Want{{Digest: digest, Size: s.size, Take: 4, Avoid: []string{"host-0"}}}}).Grants[0]
	if len(avoiding.Peers) != 0 || len(avoiding.Take) != 2 {
		t.Errorf("a host that avoids the only peer is granted %+v", avoiding)
	}
	s.gone["host-0"] = true
	if got := peersOf("host-2", want); len(got) != 0 {
		t.Errorf("a host that cannot be reached is named: %v", got)
	}
	s.gone["host-0"] = false
	ask("host-0", blob.Request{Epoch: holder.Epoch, Full: true})
	if got := peersOf("host-2", want); len(got) != 0 {
		t.Errorf("a host is named for what it does not have any more: %v", got)
	}
	ask("host-0", blob.Request{Epoch: "another tracker's", Held: []string{digest}})
	if got := peersOf("host-2", want); len(got) != 0 {
		t.Errorf("what came since another tracker was told counts: %v", got)
	}
	ask("host-0", blob.Request{Epoch: holder.Epoch, Held: []string{digest}})
	if got := peersOf("host-2", want); !slices.Equal(got, []string{"host-0"}) {
		t.Errorf("what came since this tracker was told does not count: %v", got)
	}
	s.now = s.now.Add(heldFor + time.Second)
	if got := peersOf("host-2", want); len(got) != 0 {
		t.Errorf("a host that has been silent is named: %v", got)
	}
}

// What hosts say is bounded, and what makes no sense takes nothing from others.
func TestHostileRequestsCostTheTrackerLittle(t *testing.T) {
	s := newSimulation(1, 1)
	held := make([]string, blob.MaxHeld+10)
	wants := make([]blob.Want, blob.MaxWants+10)
	for i := range held {
		held[i] = fmt.Sprint(i)
	}
	for i := range wants {
		wants[i] = blob.Want{Digest: fmt.Sprint("wanted ", i), Size: []int64{-1, 0, 1 << 62, 1 << 40}[i%4], Have: blob.AllPieces(100000), Take: 1 << 30, Avoid: []string{""}}
	}
	answer := s.tracker.AnswerHost("host-0", s.now, blob.Request{Full: true, Held: held, Wants: wants})
	if len(answer.Grants) != blob.MaxWants || len(s.tracker.hosts["host-0"].held) != blob.MaxHeld {
		t.Errorf("%d grants, %d held", len(answer.Grants), len(s.tracker.hosts["host-0"].held))
	}
	s.now = s.now.Add(heldFor + time.Second)
	s.tracker.AnswerHost("host-1", s.now, blob.Request{})
	if len(s.tracker.held) != 0 || len(s.tracker.blobs) != 0 || len(s.tracker.hosts) != 1 {
		t.Errorf("%d digests, %d blobs and %d hosts are remembered", len(s.tracker.held), len(s.tracker.blobs), len(s.tracker.hosts))
	}
}
