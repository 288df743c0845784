package daemon

import (
	"context"
	"errors"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
)

// ListDeployments lists the rollouts of a daemon, the newest first.
func ListDeployments(_ context.Context, r *call.Request, in *types.ListDaemonDeploymentsInput) (*types.ListDaemonDeploymentsOutput, error) {
	if err := field.AllOf("status", in.Status, types.DaemonDeploymentStatuses...); err != nil {
		return nil, err
	}
	s, err := find(r, in.DaemonARN)
	if errors.Is(err, errNotFound) {
		return nil, field.Errorf("daemonArn", "%s", errNotFound.Message) // the model of this operation has no error of its own for it
	}
	if err != nil {
		return nil, err
	}
	page, next, err := servicedef.PageOfRollouts(r.View, s, servicedef.RolloutFilter{Status: in.Status, CreatedAt: in.CreatedAt}, in.Paging)
	if err != nil {
		return nil, err
	}
	out := &types.ListDaemonDeploymentsOutput{DaemonDeployments: []types.DaemonDeploymentSummary{}, NextToken: next}
	for _, rollout := range page {
		out.DaemonDeployments = append(out.DaemonDeployments, r.Services().DaemonDeploymentSummary(rollout))
	}
	return out, nil
}

// DescribeDeployments shows rollouts of daemons.
func DescribeDeployments(_ context.Context, r *call.Request, in *types.DescribeDaemonDeploymentsInput) (*types.DescribeDaemonDeploymentsOutput, error) {
	deployments, failures, err := call.Describe("daemonDeploymentArns", in.DaemonDeploymentARNs, func(given string) (out types.DaemonDeployment, found bool) {
		cluster, name, id := call.PartOfService(arn.DaemonDeployment, given)
		rollout := r.View.ServiceRollout(id)
		if rollout == nil || rollout.Cluster != cluster || rollout.Service != name || !sees(r, r.View.ServiceByID(rollout.ServiceID)) {
			return out, false
		}
		return r.Services().DaemonDeployment(rollout), true
	})
	return &types.DescribeDaemonDeploymentsOutput{DaemonDeployments: deployments, Failures: failures}, err
}

// DescribeRevisions shows revisions of daemons.
func DescribeRevisions(_ context.Context, r *call.Request, in *types.DescribeDaemonRevisionsInput) (*types.DescribeDaemonRevisionsOutput, error) {
	revisions, failures, err := call.Describe("daemonRevisionArns", in.DaemonRevisionARNs, func(given string) (out types.DaemonRevision, found bool) {
		cluster, name, id := call.PartOfService(arn.DaemonRevision, given)
		revision := r.View.ServiceRevision(id)
		if revision == nil || revision.Cluster != cluster || revision.Service != name || !sees(r, r.View.ServiceByID(revision.ServiceID)) {
			return out, false
		}
		return r.Services().DaemonRevision(revision), true
	})
	return &types.DescribeDaemonRevisionsOutput{DaemonRevisions: revisions, Failures: failures}, err
}
