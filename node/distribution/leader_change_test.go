package distribution

import (
	"errors"
	"testing"
	"time"

	"pinion/raftfsm/blob"
)

// reportBlobs has the tracker know of the blob, which the host has.
func (h *testHost) reportBlobs() {
	h.store.Store(h.p.digest, h.p.data)
	h.p.shares[h.id] = blob.AllPieces(blob.Count(int64(len(h.p.data))))
}

// A blob that no registry has, as of an imported image, is waited for while another leader begins: it learns only then which hosts have what.
func TestABlobOfOtherHostsAloneIsWaitedForDuringAChangeOfLeader(t *testing.T) {
	none := errors.New("no registry has it")
	for name, c := range map[string]struct {
		begin func(p *testPool)
		end   func(p *testPool)
		want  error
	}{
		"a host has it": {
			func(p *testPool) { p.settling = true },
			func(p *testPool) { p.settling = false; p.hosts[1].reportBlobs() }, nil,
		},
		"no host has it": {func(p *testPool) { p.settling = true }, func(p *testPool) { p.settling = false }, none},
		"there is no leader": {
			func(p *testPool) { p.away = errors.New("an election") },
			func(p *testPool) { p.away = nil; p.hosts[1].reportBlobs() }, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPool(t, 2, 2*mib)
			p.registry.fail.Store(&none)
			p.mu.Lock()
			c.begin(p)
			p.mu.Unlock()
			fetched := make(chan error, 1)
			go func() { fetched <- p.hosts[0].fetch(t.Context()) }()
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for asked := 0; asked < 2; <-tick.C {
				if len(fetched) > 0 {
					t.Fatalf("it does not wait: %v", <-fetched)
				}
				p.mu.Lock()
				if asked = p.asked; asked >= 2 {
					c.end(p)
				}
				p.mu.Unlock()
			}
			if err := <-fetched; !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
		})
	}
}
