package distribution

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm/blob"
)

// promises is a tracker that says of each blob that it is coming, and gives nothing to fetch.
type promises struct{ *testHost }

func (promises) Ask(_ context.Context, r blob.Request) (blob.Answer, error) {
	answer := blob.Answer{Epoch: "one", AgainMillis: 3000}
	for range r.Wants {
		answer.Grants = append(answer.Grants, blob.Sources{Coming: true})
	}
	return answer, nil
}

func TestAPullEndsThoughTheTrackerPromisesForEver(t *testing.T) {
	none := errors.New("the registry does not answer")
	for name, c := range map[string]struct {
		noRanges bool
		err      error
		most     time.Duration
	}{
		"from the registry":              {most: 2 * patience},
		"from a registry without ranges": {noRanges: true, most: 2 * patience},
		"with the error of the registry": {err: none, most: 11 * patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newTestPool(t, 1, 29*mib+17)
				p.registry.noRanges = c.noRanges
				if c.err != nil {
					p.registry.fail.Store(&c.err)
				}
				h := p.hosts[0]
				h.x.SetPeers(promises{h})
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := h.fetch(ctx); !errors.Is(err, c.err) {
					t.Errorf("%v, not %v", err, c.err)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("it took %v", took)
				}
				if got := p.registry.bytes.Load(); c.err == nil && got != int64(len(p.data)) {
					t.Errorf("the registry gave %d bytes", got)
				}
			})
		})
	}
}
