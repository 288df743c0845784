package metadata

import (
	"context"
	"errors"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// Containers ask often, and the pool is asked seldom. While it does not answer, the previous tags are told, and nobody waits for it again and again.
func TestThePoolIsAskedSeldomForTheTagsOfTheHost(t *testing.T) {
	var h hostTags
	asked := 0
	var fails error
	ask := func(ctx context.Context) ([]spec.Tag, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("it may wait for ever")
		}
		if ctx.Err() != nil {
			t.Error("a container that has hung up ends the question of all")
		}
		asked++
		return []spec.Tag{{Key: "asked", Value: string(rune('0' + asked))}}, fails
	}
	begin := time.Unix(1, 0)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		at    time.Duration
		fails error
		asked int
		value string
	}{
		{0, errors.New("no leader"), 1, ""}, {hostTagsAge - 1, nil, 1, ""}, {hostTagsAge, nil, 2, "2"}, {hostTagsAge + 1, nil, 2, "2"},
		{2 * hostTagsAge, errors.New("no leader"), 3, "2"}, {2*hostTagsAge + 1, nil, 3, "2"}, {3 * hostTagsAge, nil, 4, "4"},
	} {
		fails = c.fails
		tags := h.get(gone, begin.Add(c.at), ask)
		if asked != c.asked || byKey(tags)["asked"] != c.value {
			t.Errorf("after %v: asked %d times, %v", c.at, asked, tags)
		}
	}
	if tags := new(hostTags).get(t.Context(), begin, nil); len(tags) > 0 {
		t.Errorf("without a pool: %v", tags)
	}
}
