package change

import (
	"slices"

	"pinion/raftfsm/service"
)

// OfService tells of the service, of its new events that ECS tells too, and of its deployments whose state has changed.
func OfService(before, after *service.Service) []*Change {
	if after == nil {
		return nil // it was INACTIVE before
	}
	if before == nil || before.ID != after.ID {
		before = &service.Service{}
	}
	all := []*Change{{Kind: Service, ClusterName: after.Cluster, Object: after}}
	for i := len(after.Events) - 1; i >= 0; i-- {
		if n := len(before.Events); n > 0 && before.Events[n-1].ID == after.Events[i].ID {
			break
		}
		if e := after.Events[i]; e.Action != "" {
			all = slices.Insert(all, 1, &Change{Kind: ServiceAction, ClusterName: after.Cluster, Object: &service.EventChange{Service: after, Event: e}})
		}
	}
	if after.IsExternal() {
		return all // ECS tells of task sets in events of their service alone
	}
	for _, d := range after.Deployments {
		if was := before.Deployment(d.ID); was == nil || was.State != d.State {
			all = append(all, &Change{Kind: Deployment, ClusterName: after.Cluster, Object: &service.DeploymentChange{Service: after, Deployment: d}})
		}
	}
	return all
}

// OfRollout tells of the hooks that have paused a rollout, and how each pause ended. One that is gone while it waited has FAILED: its stage comes again.
func OfRollout(before, after *service.Rollout) (all []*Change) {
	if after == nil {
		return nil // it was over before
	}
	if before == nil {
		before = &service.Rollout{}
	}
	find := func(of *service.Rollout, id string) *service.Pause {
		if i := slices.IndexFunc(of.Pauses, func(p service.Pause) bool { return p.ID == id }); i >= 0 {
			return &of.Pauses[i]
		}
		return nil
	}
	tell := func(p service.Pause) {
		all = append(all, &Change{Kind: Hook, ClusterName: after.Cluster, Object: &service.HookChange{Rollout: after, Pause: p}})
	}
	for _, p := range before.Pauses {
		if p.Status == service.HookAwaiting && find(after, p.ID) == nil {
			p.Status = service.HookFailed
			tell(p)
		}
	}
	for _, p := range after.Pauses {
		if was := find(before, p.ID); was == nil || was.Status != p.Status {
			tell(p)
		}
	}
	return all
}
