package ecs

import (
	"context"
	"time"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// ECS's limits for the protection of tasks, in minutes.
const (
	maxProtected      = 10 // tasks of one request
	defaultProtection = 120
	maxProtection     = 2880
)

func getTaskProtection(_ context.Context, r *Request, in *types.GetTaskProtectionInput) (*types.GetTaskProtectionOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	ids, failures, err := protectable(r, cluster, in.Tasks, paging.Max)
	if err != nil {
		return nil, err
	}
	out := &types.GetTaskProtectionOutput{ProtectedTasks: []types.ProtectedTask{}, Failures: failures}
	for _, id := range ids {
		t := r.View.Task(id)
		switch {
		case t.LastStatus == spec.Stopped:
			out.Failures = append(out.Failures, missingTask(r, cluster.Name, id))
		case t.Service == nil:
			out.Failures = append(out.Failures, notProtectable(r, cluster.Name, id, raftfsm.ReasonTaskNotValid))
		default:
			out.ProtectedTasks = append(out.ProtectedTasks, protectedTask(r, cluster.Name, id, t.ProtectedUntil.Get()))
		}
	}
	return out, nil
}

func updateTaskProtection(ctx context.Context, r *Request, in *types.UpdateTaskProtectionInput) (*types.UpdateTaskProtectionOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	until, err := protectedUntil(in, r.Now())
	if err != nil {
		return nil, err
	}
	ids, failures, err := protectable(r, cluster, in.Tasks, maxProtected)
	if err != nil {
		return nil, err
	}
	out := &types.UpdateTaskProtectionOutput{ProtectedTasks: []types.ProtectedTask{}, Failures: failures}
	if len(ids) == 0 {
		return out, nil
	}
	refusals, err := call.Apply[[]string](ctx, r, raftfsm.ProtectTasks{Cluster: cluster.Name, Tasks: ids, Until: until})
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if refusals[i] != "" {
			out.Failures = append(out.Failures, notProtectable(r, cluster.Name, id, refusals[i]))
			continue
		}
		out.ProtectedTasks = append(out.ProtectedTasks, protectedTask(r, cluster.Name, id, until))
	}
	return out, nil
}

// protectedUntil is when a protection ends that begins now; zero: it ends now.
func protectedUntil(in *types.UpdateTaskProtectionInput, now time.Time) (time.Time, error) {
	minutes := defaultProtection
	if in.ExpiresInMinutes != nil {
		minutes = *in.ExpiresInMinutes
	}
	switch {
	case minutes < 1 || minutes > maxProtection:
		return time.Time{}, field.Errorf("expiresInMinutes", "expiresInMinutes must be between 1 and %d, not %d.", maxProtection, minutes)
	case !in.ProtectionEnabled:
		return time.Time{}, nil
	}
	return now.Add(time.Duration(minutes) * time.Minute), nil
}

// protectable are the ids of the tasks that a request names and the caller's key may know of, each once; the others are failures.
func protectable(r *Request, cluster *spec.Cluster, given []string, most int) (ids []string, failures []types.Failure, err error) {
	if len(given) == 0 || len(given) > most {
		return nil, nil, field.Errorf("tasks", "tasks must have 1 to %d items, not %d.", most, len(given))
	}
	seen, failures := map[string]bool{}, []types.Failure{}
	for _, text := range given {
		id, err := call.ParseInCluster(cluster.Name, arn.Task, text)
		if err != nil {
			return nil, nil, err
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		if t := r.View.Task(id); t != nil && t.Cluster == cluster.Name && auth.SeesTask(r.Grant, t) {
			ids = append(ids, id)
			continue
		}
		failures = append(failures, missingTask(r, cluster.Name, id))
	}
	return ids, failures, nil
}

// protectionDetails are the details of failures, by reason.
var protectionDetails = map[string]string{
	raftfsm.ReasonTaskNotValid:      "The task belongs to no service, which alone would stop it.",
	raftfsm.ReasonDeploymentBlocked: "The service is rolled back from the deployment of the task.",
}

func notProtectable(r *Request, cluster, id, reason string) types.Failure {
	return types.Failure{ARN: r.Render().TaskARN(cluster, id), Reason: reason, Detail: protectionDetails[reason]}
}

func protectedTask(r *Request, cluster, id string, until time.Time) types.ProtectedTask {
	out := types.ProtectedTask{TaskARN: r.Render().TaskARN(cluster, id)}
	if until.After(r.Now()) {
		out.ProtectionEnabled, out.ExpirationDate = true, wire.NewTime(until)
	}
	return out
}
