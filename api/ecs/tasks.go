package ecs

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"strings"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

func describeTasks(_ context.Context, r *Request, in *types.DescribeTasksInput) (*types.DescribeTasksOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.Tasks) == 0 {
		return nil, field.Errorf("tasks", "Tasks cannot be empty.")
	}
	if len(in.Tasks) > paging.Max {
		return nil, field.Errorf("tasks", "taskIds can have at most %d items.", paging.Max)
	}
	out := &types.DescribeTasksOutput{Tasks: make([]*types.RenderedTask, 0, len(in.Tasks)), Failures: []types.Failure{}}
	for _, given := range in.Tasks {
		id, err := call.ParseInCluster(cluster.Name, arn.Task, given)
		if err != nil {
			return nil, err
		}
		if t := r.View.Task(id); t != nil && t.Cluster == cluster.Name {
			if !auth.SeesTask(r.Grant, t) {
				out.Failures = append(out.Failures, types.Failure{ARN: r.Render().TaskARN(cluster.Name, id), Reason: spec.ReasonMissing})
				continue
			}
			rendered, err := r.TaskCache.Task(r.Render(), t, len(in.Include) > 0)
			if err != nil {
				return nil, err
			}
			out.Tasks = append(out.Tasks, rendered)
			continue
		}
		if t := r.EndedTask(cluster.Name, id); t != nil {
			rendered, err := r.TaskCache.Task(r.Render(), t, len(in.Include) > 0)
			if err != nil {
				return nil, err
			}
			out.Tasks = append(out.Tasks, rendered)
			continue
		}
		out.Failures = append(out.Failures, missingTask(r, cluster.Name, id))
	}
	return out, nil
}

// taskIDLength is the number of digits of a task's id.
const taskIDLength = 32

// missingTask is the failure for a task that is not there. Ids are exact, as on ECS: a beginning that is one task's now may be two tasks'
// later, and a program that acts on it has nobody who looks.
func missingTask(r *Request, cluster, id string) types.Failure {
	f := types.Failure{ARN: r.Render().TaskARN(cluster, id), Reason: spec.ReasonMissing}
	if len(id) < taskIDLength {
		f.Detail = "The id of a task has 32 digits; its beginning is taken by the pinion command alone (pinion ps -q prints whole ids)."
	}
	return f
}

// maxReason bounds what a caller can put into the state.
const maxReason = 1024

// namedTask is the task that an operation is about, and its cluster. The caller's key has to be for the team of the task.
func namedTask(r *Request, inCluster, named string) (*spec.Cluster, *spec.Task, error) {
	cluster, err := r.Cluster(inCluster)
	if err != nil {
		return nil, nil, err
	}
	id, err := call.ParseInCluster(cluster.Name, arn.Task, named)
	if err != nil {
		return nil, nil, err
	}
	task := r.View.Task(id)
	if task == nil || task.Cluster != cluster.Name {
		return nil, nil, field.Errorf("task", "The referenced task was not found.")
	}
	return cluster, task, checkTeamOf(r, task)
}

func stopTask(ctx context.Context, r *Request, in *types.StopTaskInput) (*types.StopTaskOutput, error) {
	_, task, err := namedTask(r, in.Cluster, in.Task)
	if err != nil {
		return nil, err
	}
	if len(in.Reason) > maxReason {
		return nil, field.Errorf("reason", "reason must be at most %d characters long, not %d.", maxReason, len(in.Reason))
	}
	stopped, err := call.Apply[*spec.Task](ctx, r, raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated, Reason: in.Reason, At: r.Now(), Force: in.Force})
	if err != nil {
		return nil, err
	}
	return &types.StopTaskOutput{Task: r.Render().Task(stopped, false)}, nil
}

func listTasks(_ context.Context, r *Request, in *types.ListTasksInput) (*types.ListTasksOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := checkTaskFilters(r, cluster, in); err != nil {
		return nil, err
	}
	tasks, err := tasksFrom(r, cluster, in.ContainerInstance)
	if err != nil {
		return nil, err
	}
	matches := func(t *spec.Task) bool { return matchesFilters(in, t) && auth.SeesTask(r.Grant, t) }
	page, next, err := paging.CutFrom(in.Paging, tasks, matches, func(t *spec.Task) string { return t.ID })
	if err != nil {
		return nil, err
	}
	out := &types.ListTasksOutput{TaskARNs: []string{}, NextToken: next}
	for _, t := range page {
		out.TaskARNs = append(out.TaskARNs, r.Render().TaskARN(t.Cluster, t.ID))
	}
	return out, nil
}

// tasksFrom visits the tasks of a cluster, or of one of its hosts, after an id and in the order of their ids.
func tasksFrom(r *Request, cluster *spec.Cluster, instance string) (func(last string) iter.Seq[*spec.Task], error) {
	if instance == "" {
		return func(last string) iter.Seq[*spec.Task] { return r.View.TasksAfter(cluster.Name, last) }, nil
	}
	host, err := findInstance(r, cluster, instance)
	if err != nil {
		return nil, err
	}
	return func(last string) iter.Seq[*spec.Task] {
		tasks := r.View.TasksOn(host.ID)
		return slices.Values(tasks[sort.Search(len(tasks), func(i int) bool { return tasks[i].ID > last }):])
	}, nil
}

func checkTaskFilters(r *Request, cluster *spec.Cluster, in *types.ListTasksInput) error {
	if in.ServiceName != "" {
		if _, err := findService(r, cluster.Name, in.ServiceName); err != nil {
			return err
		}
	}
	if in.StartedBy != "" && (in.Family != "" || in.ContainerInstance != "" || in.LaunchType != "") {
		return field.Errorf("startedBy", "startedBy must be the only filter: remove family, containerInstance and launchType.")
	}
	return nil
}

// matchesFilters applies the filters. A desired status is only ever RUNNING or STOPPED, so PENDING matches nothing.
func matchesFilters(in *types.ListTasksInput, t *spec.Task) bool {
	family, _, _ := strings.Cut(t.Definition, ":")
	return string(t.DesiredStatus) == cmp.Or(in.DesiredStatus, string(spec.Running)) &&
		(in.Family == "" || in.Family == family) &&
		(in.StartedBy == "" || in.StartedBy == t.StartedBy) &&
		(in.ServiceName == "" || t.Service != nil && t.Group == groupOf(in.ServiceName)) &&
		(in.DaemonName == "" || t.Service != nil && t.Group == service.DaemonGroupPrefix+in.DaemonName) &&
		(in.LaunchType == "" || in.LaunchType == cmp.Or(t.LaunchType, view.LaunchTypeEC2))
}

// groupOf is the group of the tasks of a service, which is given by name or ARN.
func groupOf(given string) string {
	parsed, _ := arn.Parse(arn.Service, given) // it was found
	return service.GroupPrefix + parsed.Name
}
