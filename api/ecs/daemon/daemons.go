// Package daemon has the operations of daemons. The state has a daemon as a service of the strategy DAEMON, and what it runs as a task definition, both
// in spaces of names of their own: the reconciler of services keeps it, and whoever has the rights to a service has them to a daemon.
package daemon

import (
	"context"
	"slices"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Errors that clients match.
var (
	errNotFound  = wire.Errorf("DaemonNotFoundException", "Daemon not found.")
	errNotActive = wire.Errorf("DaemonNotActiveException", "Daemon was not ACTIVE.")
)

// sees reports whether the caller's key may know of a daemon, which is gone when it is INACTIVE.
func sees(r *call.Request, s *service.Service) bool {
	return s != nil && s.IsDaemon() && s.Status != service.Inactive && auth.SeesService(r.Grant, s)
}

// find finds a daemon by its ARN. Those of others are not found.
func find(r *call.Request, given string) (*service.Service, error) {
	if !arn.Is(given) {
		return nil, field.Errorf("daemonArn", "daemonArn must be the ARN of a daemon, not %q", given)
	}
	parsed, err := arn.Parse(arn.Daemon, given)
	if err != nil {
		return nil, err
	}
	if _, err := r.Cluster(parsed.Cluster); err != nil {
		return nil, err
	}
	if s := r.View.Service(parsed.Cluster, parsed.Name); sees(r, s) {
		return s, nil
	}
	return nil, errNotFound
}

// Describe shows a daemon.
func Describe(_ context.Context, r *call.Request, in *types.DescribeDaemonInput) (*types.DescribeDaemonOutput, error) {
	s, err := find(r, in.DaemonARN)
	if err != nil {
		return nil, err
	}
	return &types.DescribeDaemonOutput{Daemon: r.Services().Daemon(s)}, nil
}

// List lists the daemons of a cluster, those that are being deleted, too.
func List(_ context.Context, r *call.Request, in *types.ListDaemonsInput) (*types.ListDaemonsOutput, error) {
	cluster, err := r.Cluster(in.ClusterARN)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, given := range in.CapacityProviderARNs {
		parsed, err := arn.Parse(arn.CapacityProvider, given)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, parsed.Name)
	}
	var matching []*service.Service
	for _, s := range r.View.Services(cluster.Name) {
		uses := func(i spec.CapacityProviderStrategyItem) bool { return slices.Contains(wanted, i.CapacityProvider) }
		if sees(r, s) && (len(wanted) == 0 || slices.ContainsFunc(s.Settings.Providers, uses)) {
			matching = append(matching, s)
		}
	}
	page, next, err := paging.Cut(in.Paging, matching, false, func(s *service.Service) string { return s.Name })
	if err != nil {
		return nil, err
	}
	out := &types.ListDaemonsOutput{DaemonSummariesList: []types.DaemonSummary{}, NextToken: next}
	for _, s := range page {
		out.DaemonSummariesList = append(out.DaemonSummariesList, r.Services().DaemonSummary(s))
	}
	return out, nil
}
