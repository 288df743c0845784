package ecs

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

type listTasksInput struct {
	paging
	Cluster       string `json:"cluster"`
	Instance      string `json:"containerInstance"`
	Family        string `json:"family"`
	StartedBy     string `json:"startedBy"`
	ServiceName   string `json:"serviceName"`
	DesiredStatus string `json:"desiredStatus"`
	LaunchType    string `json:"launchType"`

	DaemonName wire.Unsupported `json:"daemonName" why:"daemons are not built yet"`
}

type listTasksOutput struct {
	ARNs      []string `json:"taskArns"`
	NextToken string   `json:"nextToken,omitempty"`
}

func (c *Request) listTasks(_ context.Context, in *listTasksInput) (*listTasksOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	tasks, err := c.tasksOf(k, in.Instance)
	if err != nil {
		return nil, err
	}
	matching := func(seen string) iter.Seq[*spec.Task] {
		return func(yield func(*spec.Task) bool) {
			for t := range tasks(seen) {
				if in.matches(t) && !yield(t) {
					return
				}
			}
		}
	}
	page, next, err := paginateFrom(in.paging, matching, func(t *spec.Task) string { return t.ID })
	if err != nil {
		return nil, err
	}
	out := &listTasksOutput{ARNs: []string{}, NextToken: next}
	for _, t := range page {
		out.ARNs = append(out.ARNs, c.taskARN(t.Cluster, t.ID))
	}
	return out, nil
}

// tasksOf visits the tasks of a cluster, or of one of its hosts, after an id and in the order of their ids.
func (c *Request) tasksOf(k *spec.Cluster, instance string) (func(seen string) iter.Seq[*spec.Task], error) {
	if instance == "" {
		return func(seen string) iter.Seq[*spec.Task] { return c.View.TasksAfter(k.Name, seen) }, nil
	}
	id, err := parseInCluster(k.Name, "container-instance", instance)
	if err != nil {
		return nil, err
	}
	if host := c.View.Host(id); host == nil || host.Cluster != k.Name {
		return nil, wire.Errorf(wire.InvalidParameter, "The referenced container instance was not found.")
	}
	return func(seen string) iter.Seq[*spec.Task] {
		tasks := c.View.TasksOn(id)
		return slices.Values(tasks[sort.Search(len(tasks), func(i int) bool { return tasks[i].ID > seen }):])
	}, nil
}

func (in *listTasksInput) check() error {
	if err := inEnum("desiredStatus", in.DesiredStatus, "RUNNING", "PENDING", "STOPPED"); err != nil {
		return err
	}
	if err := inEnum("launchType", in.LaunchType, launchEC2, launchFargate, launchExternal, launchManagedInstances); err != nil {
		return err
	}
	if in.ServiceName != "" {
		return wire.Errorf("ServiceNotFoundException", "Service not found.")
	}
	if in.StartedBy != "" && (in.Family != "" || in.Instance != "" || in.LaunchType != "") {
		return wire.Errorf(wire.InvalidParameter, "startedBy must be the only filter: remove family, containerInstance and launchType.")
	}
	return nil
}

// matches applies the filters. A desired status is only ever RUNNING or STOPPED, so PENDING matches nothing.
func (in *listTasksInput) matches(t *spec.Task) bool {
	family, _, _ := strings.Cut(t.Definition, ":")
	return string(t.DesiredStatus) == cmp.Or(in.DesiredStatus, string(spec.Running)) &&
		(in.Family == "" || in.Family == family) &&
		(in.StartedBy == "" || in.StartedBy == t.StartedBy) &&
		(in.LaunchType == "" || in.LaunchType == cmp.Or(t.LaunchType, launchEC2))
}
