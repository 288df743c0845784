package servicedef

import (
	"fmt"
	"slices"

	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
)

// listedRollouts is how many are listed unless the input has another number, ECS's.
const listedRollouts = 20

// RolloutFilter says which rollouts of a service, or of a daemon, are listed.
type RolloutFilter struct {
	Status    []string // any of them; empty: all
	CreatedAt any      // see parseCreatedAt
}

// PageOfRollouts is a page of the rollouts of a service, the newest first, and the token of the next page.
func PageOfRollouts(view *raftfsm.View, s *service.Service, filter RolloutFilter, p types.Paging) (page []*service.Rollout, next string, err error) {
	after, before, err := parseCreatedAt(filter.CreatedAt)
	if err != nil {
		return nil, "", err
	}
	var matching []*service.Rollout
	for _, rollout := range slices.Backward(view.ServiceRollouts(s.ID)) {
		if (len(filter.Status) == 0 || slices.Contains(filter.Status, string(rollout.Status))) && !rollout.CreatedAt.Before(after) && !rollout.CreatedAt.After(before) {
			matching = append(matching, rollout)
		}
	}
	return paging.Cut(paging.WithDefault(p, listedRollouts), matching, true, func(d *service.Rollout) string {
		return fmt.Sprintf("%019d/%s", d.CreatedAt.UnixNano(), d.ID)
	})
}
