package invocation

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/client"
)

var fullID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// ResolveTaskIDs completes what people type for tasks (an id, its first digits, or an ARN) to full ids.
func (inv *Invocation) ResolveTaskIDs(ctx context.Context, cluster string, given []string) ([]string, error) {
	var known []string
	ids := make([]string, len(given))
	for i, name := range given {
		name = strings.ToLower(client.ResourceID(name))
		if fullID.MatchString(name) {
			ids[i] = name
			continue
		}
		if known == nil {
			var err error
			if known, err = inv.Client.TaskIDs(ctx, cluster); err != nil {
				return nil, err
			}
		}
		id, err := completeID(name, known)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", cluster, err)
		}
		ids[i] = id
	}
	return ids, nil
}

// completeID finds the one id that begins with prefix.
func completeID(prefix string, ids []string) (string, error) {
	var matches []string
	for _, id := range ids {
		if prefix != "" && strings.HasPrefix(id, prefix) {
			matches = append(matches, id)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", fmt.Errorf("no task has an id that begins with %q; `pinion ps -a` lists the tasks", prefix)
	}
	return "", fmt.Errorf("%q is the beginning of %s (%s); give more digits", prefix, format.Plural(len(matches), "task id"), format.List(matches))
}

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
