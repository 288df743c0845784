package ecs

import (
	"cmp"
	"context"
	"errors"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/iam"
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
	deployments, failures, err := call.Describe("serviceDeploymentArns", in.ServiceDeploymentARNs, func(given string) (out types.ServiceDeployment, found bool) {
		rollout := findRollout(r, given)
		if rollout == nil {
			return out, false
		}
		return r.Services().ServiceDeployment(rollout), true
	})
	return &types.DescribeServiceDeploymentsOutput{ServiceDeployments: deployments, Failures: failures}, err
}

func describeServiceRevisions(_ context.Context, r *Request, in *types.DescribeServiceRevisionsInput) (*types.DescribeServiceRevisionsOutput, error) {
	revisions, failures, err := call.Describe("serviceRevisionArns", in.ServiceRevisionARNs, func(given string) (out types.ServiceRevision, found bool) {
		cluster, name, id := call.PartOfService(arn.ServiceRevision, given)
		revision := r.View.ServiceRevision(id)
		if revision == nil || revision.Cluster != cluster || revision.Service != name || !seesServiceID(r, revision.ServiceID) {
			return out, false
		}
		return r.Services().ServiceRevision(revision), true
	})
	return &types.DescribeServiceRevisionsOutput{ServiceRevisions: revisions, Failures: failures}, err
}

// findRollout is the one with that ARN, nil when there is none that the caller's key may know of.
func findRollout(r *Request, given string) *service.Rollout {
	cluster, name, id := call.PartOfService(arn.ServiceDeployment, given)
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
		Cluster: rollout.Cluster, Name: rollout.Service, Rollout: rollout.ID, Reason: "Service deployment rolled back because " + iam.PrincipalName(r.Principal) + " asked for it.", At: r.Now(),
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
	if err := auth.CheckAccount(r.Principal, r.Grant, r.Owner, s); err != nil {
		return nil, err
	}
	if deploys := r.View.Definition(s.Primary().Definition); deploys != nil && action == service.HookContinue {
		if err := call.CheckPrivileges(r, s, deploys); err != nil {
			return nil, err
		}
	}
	_, err := r.Store.Propose(ctx, raftfsm.ContinueService{
		Cluster: rollout.Cluster, Name: rollout.Service, Rollout: rollout.ID, Hook: in.HookID, Action: action, By: iam.PrincipalName(r.Principal), EventID: httpx.NewUUID(), At: r.Now(),
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
