package daemon

import (
	"context"
	"errors"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
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
	if err := checkDescribed("daemonDeploymentArns", in.DaemonDeploymentARNs); err != nil {
		return nil, err
	}
	out := &types.DescribeDaemonDeploymentsOutput{DaemonDeployments: []types.DaemonDeployment{}, Failures: []types.Failure{}}
	for _, given := range in.DaemonDeploymentARNs {
		cluster, name, id := parseOf(arn.DaemonDeployment, given)
		if found := r.View.ServiceRollout(id); found != nil && found.Cluster == cluster && found.Service == name && sees(r, r.View.ServiceByID(found.ServiceID)) {
			out.DaemonDeployments = append(out.DaemonDeployments, r.Services().DaemonDeployment(found))
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: given, Reason: spec.ReasonMissing})
	}
	return out, nil
}

// DescribeRevisions shows revisions of daemons.
func DescribeRevisions(_ context.Context, r *call.Request, in *types.DescribeDaemonRevisionsInput) (*types.DescribeDaemonRevisionsOutput, error) {
	if err := checkDescribed("daemonRevisionArns", in.DaemonRevisionARNs); err != nil {
		return nil, err
	}
	out := &types.DescribeDaemonRevisionsOutput{DaemonRevisions: []types.DaemonRevision{}, Failures: []types.Failure{}}
	for _, given := range in.DaemonRevisionARNs {
		cluster, name, id := parseOf(arn.DaemonRevision, given)
		if found := r.View.ServiceRevision(id); found != nil && found.Cluster == cluster && found.Service == name && sees(r, r.View.ServiceByID(found.ServiceID)) {
			out.DaemonRevisions = append(out.DaemonRevisions, r.Services().DaemonRevision(found))
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: given, Reason: spec.ReasonMissing})
	}
	return out, nil
}

func checkDescribed(member string, arns []string) error {
	if len(arns) == 0 || len(arns) > maxDescribed {
		return field.Errorf(member, "%s must have 1 to %d items, not %d.", member, maxDescribed, len(arns))
	}
	return nil
}

// parseOf reads the ARN of a deployment or a revision of a daemon: the id in it, empty when it is none.
func parseOf(kind, given string) (cluster, name, id string) {
	parsed, err := arn.ParseAny(given)
	if err != nil || parsed.Kind != kind {
		return "", "", ""
	}
	end := strings.LastIndex(parsed.Name, "/")
	return parsed.Cluster, parsed.Name[:end], parsed.Name[end+1:]
}
