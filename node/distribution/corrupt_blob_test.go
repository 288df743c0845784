package distribution

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// A host that lies to many at once costs the registry one more copy, which the others share.
func TestWhatOneHostGaveWrongComesFromTheRegistryOnce(t *testing.T) {
	const size = 29*mib + 17
	for _, noRanges := range []bool{false, true} {
		p := newTestPool(t, 1, size)
		p.registry.noRanges = noRanges
		if err := p.fetchAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		const lateHosts = 6
		var lied atomic.Int64
		p.registry.opened = make(chan struct{}) // when all have what the first one gives
		p.hosts[0].tamper = func(w http.ResponseWriter, _ *http.Request) http.ResponseWriter {
			return wrongBytes{countedWriter{w, func(n int) {
				if lied.Add(int64(n)) == lateHosts*size {
					close(p.registry.opened)
				}
			}}}
		}
		var late sync.WaitGroup
		for i := range lateHosts {
			h := p.add(fmt.Sprintf("late-%d", i))
			late.Go(func() {
				if err := h.fetch(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		late.Wait()
		if got := p.registry.bytes.Load(); got != 2*size {
			t.Errorf("no ranges: %t: the registry gave %d bytes for a blob of %d", noRanges, got, size)
		}
		if !p.logged("gave wrong bytes of a blob") {
			t.Error("nobody is told that a host lies")
		}
	}
}

// countedWriter tells how many bytes are written.
type countedWriter struct {
	http.ResponseWriter
	wrote func(int)
}

func (w countedWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.wrote(n)
	return n, err
}
