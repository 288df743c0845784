package ecs

import (
	"context"

	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/command"
	"pinion/raftfsm/service"
	"pinion/raftfsm/taskset"
)

// changedTaskSet is the task set that a request changes.
type changedTaskSet struct {
	service *service.Service
	*service.Deployment
}

// findChanged finds the task set that a request changes, of an ACTIVE service.
func findChanged(r *Request, cluster, inService, given string) (found changedTaskSet, err error) {
	_, s, err := externalService(r, cluster, inService)
	if err != nil {
		return found, err
	}
	if s.Status != service.Active {
		return found, errServiceNotActive
	}
	d := findTaskSet(s, given)
	if d == nil {
		return found, errNoTaskSet
	}
	return changedTaskSet{s, d}, nil
}

// apply records a change, and shows the task set after it.
func apply[C command.Command](ctx context.Context, r *Request, of changedTaskSet, change C) (types.TaskSet, error) {
	after, err := call.Apply[*service.Service](ctx, r, raftfsm.Wrap(change))
	if err != nil {
		return types.TaskSet{}, taskSetError(err)
	}
	d := after.Deployment(of.ID)
	if d == nil { // a DRAINING one that was gone when it was deleted again
		return types.TaskSet{}, errNoTaskSet
	}
	return r.Services().TaskSet(after, d, true), nil
}

// updateTaskSet scales a task set.
func updateTaskSet(ctx context.Context, r *Request, in *types.UpdateTaskSetInput) (*types.UpdateTaskSetOutput, error) {
	known, err := findChanged(r, in.Cluster, in.Service, in.TaskSet)
	if err != nil {
		return nil, err
	}
	if in.Scale == nil {
		return nil, field.Errorf("scale", "scale must be given: the percentage of the service's desired count.")
	}
	scale, err := servicedef.ParseScale(in.Scale)
	if err != nil {
		return nil, err
	}
	after := taskset.Set{ID: known.ID}
	if set := taskset.Find(r.View, known.ID); set != nil {
		after = *set
	}
	if scale.Float() > after.Scale.Float() {
		if err := mayRun(r, known.service); err != nil {
			return nil, err
		}
	}
	after.Scale = scale
	r.Services().Changed = &after
	shown, err := apply(ctx, r, known, taskset.Scale{Cluster: known.service.Cluster, Service: known.service.Name, ID: known.ID, Scale: scale, At: r.Now()})
	if err != nil {
		return nil, err
	}
	return &types.UpdateTaskSetOutput{TaskSet: shown}, nil
}

// deleteTaskSet ends a task set and stops its tasks. Until they have stopped it is DRAINING.
func deleteTaskSet(ctx context.Context, r *Request, in *types.DeleteTaskSetInput) (*types.DeleteTaskSetOutput, error) {
	known, err := findChanged(r, in.Cluster, in.Service, in.TaskSet)
	if err != nil {
		return nil, err
	}
	shown, err := apply(ctx, r, known, taskset.Delete{Cluster: known.service.Cluster, Service: known.service.Name, ID: known.ID, Force: in.Force, At: r.Now()})
	if err != nil {
		return nil, err
	}
	return &types.DeleteTaskSetOutput{TaskSet: shown}, nil
}

// updateServicePrimaryTaskSet says which task set is the PRIMARY one: the service shows what that one has. No task and no traffic moves for it.
func updateServicePrimaryTaskSet(ctx context.Context, r *Request, in *types.UpdateServicePrimaryTaskSetInput) (*types.UpdateServicePrimaryTaskSetOutput, error) {
	known, err := findChanged(r, in.Cluster, in.Service, in.PrimaryTaskSet)
	if err != nil {
		return nil, err
	}
	shown, err := apply(ctx, r, known, taskset.MakePrimary{Cluster: known.service.Cluster, Service: known.service.Name, ID: known.ID, At: r.Now()})
	if err != nil {
		return nil, err
	}
	return &types.UpdateServicePrimaryTaskSetOutput{TaskSet: shown}, nil
}
