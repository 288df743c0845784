package ecs

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// listServiceDeployments lists the rollouts of a service, the newest first.
func listServiceDeployments(_ context.Context, r *Request, in *types.ListServiceDeploymentsInput) (*types.ListServiceDeploymentsOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	s, err := findService(r, cluster.Name, in.Service)
	if err != nil {
		return nil, err
	}
	page, next, err := servicedef.PageOfRollouts(r.View, s, servicedef.RolloutFilter{Status: in.Status, CreatedAt: in.CreatedAt}, in.Paging)
	if err != nil {
		return nil, err
	}
	out := &types.ListServiceDeploymentsOutput{ServiceDeployments: []types.ServiceDeploymentBrief{}, NextToken: next}
	for _, rollout := range page {
		out.ServiceDeployments = append(out.ServiceDeployments, r.Services().ServiceDeploymentBrief(rollout))
	}
	return out, nil
}

func describeServiceDeployments(_ context.Context, r *Request, in *types.DescribeServiceDeploymentsInput) (*types.DescribeServiceDeploymentsOutput, error) {
	if err := checkDescribed("serviceDeploymentArns", in.ServiceDeploymentARNs); err != nil {
		return nil, err
	}
	out := &types.DescribeServiceDeploymentsOutput{ServiceDeployments: []types.ServiceDeployment{}, Failures: []types.Failure{}}
	for _, given := range in.ServiceDeploymentARNs {
		if rollout := findRollout(r, given); rollout != nil {
			out.ServiceDeployments = append(out.ServiceDeployments, r.Services().ServiceDeployment(rollout))
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: given, Reason: spec.ReasonMissing})
	}
	return out, nil
}

func describeServiceRevisions(_ context.Context, r *Request, in *types.DescribeServiceRevisionsInput) (*types.DescribeServiceRevisionsOutput, error) {
	if err := checkDescribed("serviceRevisionArns", in.ServiceRevisionARNs); err != nil {
		return nil, err
	}
	out := &types.DescribeServiceRevisionsOutput{ServiceRevisions: []types.ServiceRevision{}, Failures: []types.Failure{}}
	for _, given := range in.ServiceRevisionARNs {
		cluster, name, id := parseOfService(arn.ServiceRevision, given)
		if v := r.View.ServiceRevision(id); v != nil && v.Cluster == cluster && v.Service == name && seesServiceID(r, v.ServiceID) {
			out.ServiceRevisions = append(out.ServiceRevisions, r.Services().ServiceRevision(v))
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

// parseOfService reads the ARN of a service deployment or a service revision: the id in it, empty when it is none.
func parseOfService(kind, given string) (cluster, name, id string) {
	parsed, err := arn.ParseAny(given)
	if err != nil || parsed.Kind != kind {
		return "", "", ""
	}
	name, id, _ = strings.Cut(parsed.Name, "/")
	return parsed.Cluster, name, id
}

// findRollout is the one with that ARN, nil when there is none that the caller's key may know of.
func findRollout(r *Request, given string) *service.Rollout {
	cluster, name, id := parseOfService(arn.ServiceDeployment, given)
	found := r.View.ServiceRollout(id)
	if found == nil || found.Cluster != cluster || found.Service != name || !seesServiceID(r, found.ServiceID) {
		return nil
	}
	return found
}

func seesServiceID(r *Request, id string) bool {
	s := r.View.ServiceByID(id)
	return s != nil && seesService(r, s)
}

// stopServiceDeployment rolls a service back to its last completed deployment.
func stopServiceDeployment(ctx context.Context, r *Request, in *types.StopServiceDeploymentInput) (*types.StopServiceDeploymentOutput, error) {
	rollout := findRollout(r, in.ServiceDeploymentARN)
	if rollout == nil {
		return nil, errNoServiceDeployment
	}
	_, err := r.Store.Propose(ctx, raftfsm.RollBackService{
		Cluster: rollout.Cluster, Name: rollout.Service, Rollout: rollout.ID, Reason: "Service deployment rolled back because " + spec.PrincipalName(r.Principal) + " asked for it.", At: r.Now(),
	})
	switch {
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoServiceDeployment
	case errors.Is(err, service.ErrNoRollback):
		return nil, conflict(in.ServiceDeploymentARN, "The service deployment cannot be rolled back: no deployment of the service was ever completed. Update the service, or set its desired count to 0.")
	case errors.Is(err, service.ErrRolloutOver), errors.Is(err, spec.ErrInactive):
		return nil, conflict(in.ServiceDeploymentARN, "The service deployment cannot be stopped: it is not in progress.")
	case err != nil:
		return nil, err
	}
	return &types.StopServiceDeploymentOutput{ServiceDeploymentARN: in.ServiceDeploymentARN}, nil
}

// continueServiceDeployment answers a hook that has paused a deployment. Who may is who may update the service to what it deploys.
func continueServiceDeployment(ctx context.Context, r *Request, in *types.ContinueServiceDeploymentInput) (*types.ContinueServiceDeploymentOutput, error) {
	rollout := findRollout(r, in.ServiceDeploymentARN)
	if rollout == nil {
		return nil, errNoServiceDeployment
	}
	s, action := r.View.ServiceByID(rollout.ServiceID), cmp.Or(service.HookAction(in.Action), service.HookContinue)
	if err := auth.CheckAccount(r.Principal, r.Grant, r.Holder, s); err != nil {
		return nil, err
	}
	if deploys := r.View.Definition(s.Primary().Definition); deploys != nil && action == service.HookContinue {
		if err := call.CheckPowers(r, s, deploys); err != nil {
			return nil, err
		}
	}
	_, err := r.Store.Propose(ctx, raftfsm.ContinueService{
		Cluster: rollout.Cluster, Name: rollout.Service, Rollout: rollout.ID, Hook: in.HookID, Action: action, By: spec.PrincipalName(r.Principal), EventID: httpx.NewUUID(), At: r.Now(),
	})
	switch {
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoServiceDeployment
	case errors.Is(err, service.ErrNotPaused):
		return nil, field.Errorf("hookId", "The service deployment does not wait for the hook %q: lifecycleHookDetails of DescribeServiceDeployments has those with the status %s.", in.HookID, service.HookAwaiting)
	case errors.Is(err, service.ErrNoRollback):
		return nil, field.Errorf("action", "The service deployment cannot be rolled back: no deployment of the service was ever completed. Update the service, or set its desired count to 0.")
	case errors.Is(err, service.ErrRolloutOver), errors.Is(err, spec.ErrInactive):
		return nil, field.Errorf("serviceDeploymentArn", "The service deployment cannot be continued: it is not in progress.")
	case err != nil:
		return nil, err
	}
	return &types.ContinueServiceDeploymentOutput{ServiceDeploymentARN: in.ServiceDeploymentARN}, nil
}

var errNoServiceDeployment = wire.Errorf("ServiceDeploymentNotFoundException", "Service deployment not found.")

func conflict(arn, message string) error {
	refusal := wire.Errorf("ConflictException", "%s", message)
	refusal.ResourceIDs = []string{arn}
	return refusal
}
