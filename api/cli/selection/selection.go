// Package selection finds the tasks that a command line names: by id, by the first digits of one, by ARN, or by a name, which is that
// of `pinion run --name`, a family, or a group.
package selection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
)

var (
	fullID = lazyregexp.New(`^[0-9a-f]{32}$`)
	digits = lazyregexp.New(`^[0-9a-f]+$`)
)

// Resolve completes what people type for tasks to full ids, one for each word. Of the tasks with a name it is the one that has not
// stopped, or else the newest.
func Resolve(ctx context.Context, inv *invocation.Invocation, cluster string, given []string) ([]string, error) {
	var known []string
	ids := make([]string, len(given))
	for i, word := range given {
		name := resourceID(word)
		if fullID.MatchString(strings.ToLower(name)) {
			ids[i] = strings.ToLower(name)
			continue
		}
		if known == nil {
			var err error
			if known, err = inv.Client.TaskIDs(ctx, cluster); err != nil {
				return nil, err
			}
		}
		id, err := find(ctx, inv, cluster, name, known)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", cluster, err)
		}
		ids[i] = id
	}
	return ids, nil
}

// resourceID is the last part of an ARN, or any other word as it is: what has a slash and is no ARN is the name of an image.
func resourceID(word string) string {
	if strings.HasPrefix(word, "arn:") {
		return client.ResourceID(word)
	}
	return word
}

// find is the one task that a word means: the beginning of an id goes before a name.
func find(ctx context.Context, inv *invocation.Invocation, cluster, word string, known []string) (string, error) {
	var matches []string
	if prefix := strings.ToLower(word); digits.MatchString(prefix) {
		matches = slices.DeleteFunc(slices.Clone(known), func(id string) bool { return !strings.HasPrefix(id, prefix) })
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return findByName(ctx, inv, cluster, word, known)
	}
	short := make([]string, len(matches))
	for i, id := range matches {
		short[i] = format.ID(id)
	}
	return "", fmt.Errorf("%s begin with %q (%s); give more digits", format.Plural(len(matches), "task id"), word, format.List(short))
}

func findByName(ctx context.Context, inv *invocation.Invocation, cluster, name string, known []string) (string, error) {
	tasks, err := named(ctx, inv, cluster, name, known)
	if err != nil {
		return "", err
	}
	active := slices.DeleteFunc(slices.Clone(tasks), func(t client.Task) bool { return t.Stopped() })
	switch {
	case len(tasks) == 0:
		if id := endedTask(ctx, inv, cluster, name); id != "" {
			return id, nil
		}
		if services, err := client.ServiceNames(ctx, inv.Client, cluster); err == nil && slices.Contains(services, name) { // best effort
			return "", fmt.Errorf("%s is a service: `pinion service events %s`, `pinion service logs %s`; for its tasks: --group service:%s where the command has it", name, name, name, name)
		}
		return "", fmt.Errorf("no task has the name, the family or the group %q, and no id begins with it; `pinion ps -a` lists the tasks", name)
	case len(active) > 1:
		return "", fmt.Errorf("%s have the name %q: %s; give an id, or --group %s where the command has it", format.Plural(len(active), "task"), name, candidates(inv, active), cmp.Or(commonGroup(active), "NAME"))
	case len(active) == 1:
		return active[0].ID(), nil
	}
	newest := slices.MaxFunc(tasks, func(a, b client.Task) int { return a.CreatedAt.Compare(b.CreatedAt.Time) })
	if len(tasks) > 1 {
		inv.Notef("%s: the newest of %s, %s", name, format.Plural(len(tasks), "task"), candidates(inv, []client.Task{newest}))
	}
	return newest.ID(), nil
}

// commonGroup is the group that all the tasks are in; empty when there is none.
func commonGroup(tasks []client.Task) string {
	group := tasks[0].Group
	if slices.ContainsFunc(tasks, func(t client.Task) bool { return t.Group != group }) {
		return ""
	}
	return group
}

// named reads the tasks with a name: a family goes before a group, which only the tasks themselves tell.
func named(ctx context.Context, inv *invocation.Invocation, cluster, word string, known []string) ([]client.Task, error) {
	name := parseName(word)
	var ids []string
	for _, family := range name.families() {
		found, err := client.TaskIDsOfFamily(ctx, inv.Client, cluster, family)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	tasks, _, err := inv.Client.DescribeTasks(ctx, cluster, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return !name.isOf(t) })
	if len(tasks) > 0 {
		return tasks, nil
	}
	tasks, _, err = inv.Client.DescribeTasks(ctx, cluster, known)
	return slices.DeleteFunc(tasks, func(t client.Task) bool { return !name.isGroupOf(t) }), err
}

// candidates names tasks with what tells them apart: "3f2a91c04e12 (RUNNING, 3m)".
func candidates(inv *invocation.Invocation, tasks []client.Task) string {
	slices.SortFunc(tasks, func(a, b client.Task) int { return b.CreatedAt.Compare(a.CreatedAt.Time) })
	texts := make([]string, len(tasks))
	for i, task := range tasks {
		texts[i] = fmt.Sprintf("%s (%s, %s)", format.ID(task.ID()), task.Status, format.Age(inv.Now().Sub(task.CreatedAt.Time)))
	}
	return format.List(texts)
}
