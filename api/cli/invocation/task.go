package invocation

import (
	"context"
	"fmt"
	"slices"

	"pinion/api/client"
	"pinion/raftfsm/iam"
)

// DescribeTasks reads tasks that must all exist.
func (inv *Invocation) DescribeTasks(ctx context.Context, cluster string, ids []string) ([]client.Task, error) {
	tasks, failures, err := inv.Client.DescribeTasks(ctx, cluster, ids)
	if err != nil {
		return nil, err
	}
	if len(failures) > 0 {
		return nil, fmt.Errorf("cluster %s has no task %s (%s); stopped tasks are removed after an hour", cluster, client.ResourceID(failures[0].ARN), failures[0].Reason)
	}
	return tasks, nil
}

// StopOrder is the order to stop tasks in: pending ones first, or they would be placed where the others ended.
func StopOrder(tasks []client.Task) []client.Task {
	placed := func(t client.Task) int { return min(len(t.Instance), 1) }
	return slices.SortedStableFunc(slices.Values(tasks), func(a, b client.Task) int { return placed(a) - placed(b) })
}

// Owner is who sends the requests, as tasks record it: the owner of the access key; empty for root.
func (inv *Invocation) Owner(ctx context.Context) (string, error) {
	caller, err := client.CallerOf(ctx, inv.Client)
	return iam.OwnerOfARN(caller.ARN), err
}
