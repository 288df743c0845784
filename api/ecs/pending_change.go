package ecs

import (
	"context"
	"fmt"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskupdate"
)

// Operations of Pinion's own: they change tasks that wait in the queue, or send running tasks back to it.

// tasksInput names the tasks of a call by id or ARN, at most 100. A task of a gang stands for its gang.
type tasksInput struct {
	Cluster string   `json:"cluster"`
	Tasks   []string `json:"tasks"` // required
	Reason  string   `json:"reason"`
}

type releaseTasksInput struct {
	Cluster string   `json:"cluster"`
	Tasks   []string `json:"tasks"` // required
}

type setTaskPriorityInput struct {
	Cluster  string   `json:"cluster"`
	Tasks    []string `json:"tasks"`    // required
	Priority *int     `json:"priority"` // required
}

// changedTasksOutput says which tasks were changed, and why the others were not.
type changedTasksOutput struct {
	TaskARNs []string        `json:"taskArns"`
	Failures []types.Failure `json:"failures"`
}

func holdTasks(ctx context.Context, r *Request, in *tasksInput) (*changedTasksOutput, error) {
	return editTasks(r, ctx, *in, taskupdate.Update{Hold: holdOf(r, in.Reason)})
}

// holdOf is a hold of the caller, from now on.
func holdOf(r *Request, reason string) *spec.TaskHold {
	return &spec.TaskHold{By: r.Principal, At: r.Now(), Reason: reason, Admin: r.Role.May(accesskey.RoleAdmin)}
}

func releaseTasks(ctx context.Context, r *Request, in *releaseTasksInput) (*changedTasksOutput, error) {
	return editTasks(r, ctx, tasksInput{in.Cluster, in.Tasks, ""}, taskupdate.Update{Release: &taskupdate.Release{Admin: r.Role.May(accesskey.RoleAdmin)}})
}

func setTaskPriority(ctx context.Context, r *Request, in *setTaskPriorityInput) (*changedTasksOutput, error) {
	if in.Priority == nil || *in.Priority < 0 || *in.Priority > spec.MaxPriority {
		return nil, field.Errorf("priority", "priority must be a whole number from 0 to %d.", spec.MaxPriority)
	}
	if err := r.Grant.CheckPriority(*in.Priority); err != nil {
		return nil, call.Denied(r, err)
	}
	return editTasks(r, ctx, tasksInput{in.Cluster, in.Tasks, ""}, taskupdate.Update{Priority: in.Priority})
}

func requeueTasks(ctx context.Context, r *Request, in *tasksInput) (*changedTasksOutput, error) {
	reason := "Requeued by " + iam.PrincipalName(r.Principal)
	if in.Reason != "" {
		reason += ": " + in.Reason
	}
	return editTasks(r, ctx, *in, taskupdate.Update{Requeue: &taskupdate.Requeue{Reason: reason, At: r.Now()}})
}

// editTasks records a change of tasks that the caller's key may change. The call is refused as a whole when one of them is not the key's
// to change.
func editTasks(r *Request, ctx context.Context, in tasksInput, change taskupdate.Update) (*changedTasksOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	switch {
	case len(in.Tasks) == 0:
		return nil, field.Errorf("tasks", "Tasks cannot be empty.")
	case len(in.Tasks) > paging.Max:
		return nil, field.Errorf("tasks", "tasks can have at most %d items.", paging.Max)
	case len(in.Reason) > maxReason:
		return nil, field.Errorf("reason", "reason must be at most %d characters long, not %d.", maxReason, len(in.Reason))
	}
	ids := make([]string, len(in.Tasks))
	for i, task := range in.Tasks {
		if ids[i], err = call.ParseInCluster(cluster.Name, arn.Task, task); err != nil {
			return nil, err
		}
		known := r.View.Task(ids[i])
		if known == nil || known.Cluster != cluster.Name {
			return nil, field.Errorf("tasks", "The referenced task %s was not found.", ids[i])
		}
		if err := checkTeamOfGang(r, known); err != nil {
			return nil, err
		}
	}
	answers, err := call.Apply[[]string](ctx, r, raftfsm.EditTasks{IDs: ids, Edit: change})
	if err != nil {
		return nil, err
	}
	if len(answers) != len(ids) {
		return nil, fmt.Errorf("%d answers for %d tasks", len(answers), len(ids))
	}
	out := &changedTasksOutput{TaskARNs: []string{}, Failures: []types.Failure{}}
	for i, why := range answers {
		name := r.Render().TaskARN(cluster.Name, ids[i])
		switch why {
		case "":
			out.TaskARNs = append(out.TaskARNs, name)
		case spec.ReasonMissing:
			out.Failures = append(out.Failures, types.Failure{ARN: name, Reason: why})
		default:
			out.Failures = append(out.Failures, types.Failure{ARN: name, Reason: spec.ReasonInactive, Detail: why})
		}
	}
	return out, nil
}

// checkTeamOfGang is checkTeamOf for a task with all of its gang, which changes with it.
func checkTeamOfGang(r *Request, task *spec.Task) error {
	if task.Gang == nil {
		return checkTeamOf(r, task)
	}
	for _, member := range r.View.Gang(task.Gang.ID) {
		if err := checkTeamOf(r, member); err != nil {
			return err
		}
	}
	return nil
}
