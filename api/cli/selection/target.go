package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/service"
)

// Targets are the tasks that a command line names, one by one or as groups and families, which later tasks join.
type Targets struct {
	cluster  string
	words    []string // tasks, as Members takes them
	groups   []string // "service:web", "nightly"
	families []string
}

// Prefixes of targets that are no tasks. ECS's default group of a task is one of them, too.
const (
	servicePath  = "service/"
	groupPrefix  = "group:"
	familyPrefix = "family:"
)

// ParseTargets reads the arguments and the flags --group and --family of a command line.
func ParseTargets(c *cli.Context) (Targets, error) {
	t := Targets{cluster: c.String("cluster")}
	for _, word := range c.Args().Slice() {
		kind, name := "", word
		for _, prefix := range []string{servicePath, service.GroupPrefix, groupPrefix, familyPrefix} {
			if rest, is := strings.CutPrefix(word, prefix); is {
				kind, name = prefix, rest
			}
		}
		switch {
		case name == "":
			return t, exit.Usagef("%s %s: it names nothing; write %sNAME", c.Command.HelpName, word, word)
		case kind == "":
			t.words = append(t.words, word)
		case kind == groupPrefix:
			t.groups = append(t.groups, name)
		case kind == familyPrefix:
			t.families = append(t.families, name)
		default:
			t.groups = append(t.groups, service.GroupPrefix+name)
		}
	}
	if group := c.String("group"); group != "" {
		t.groups = append(t.groups, group)
	}
	if family := c.String("family"); family != "" {
		t.families = append(t.families, family)
	}
	if len(t.words)+len(t.groups)+len(t.families) == 0 {
		return t, exit.Usagef("%s needs a TASK, service/NAME, --group NAME or --family NAME; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	return t, nil
}

// ServiceTarget is the target of all tasks of a service.
func ServiceTarget(cluster, name string) Targets {
	return Targets{cluster: cluster, groups: []string{service.GroupPrefix + name}}
}

// Cluster is the name of the cluster that they are in.
func (t Targets) Cluster() string { return t.cluster }

// Grow reports whether tasks that start later may be among the targets.
func (t Targets) Grow() bool { return len(t.groups)+len(t.families) > 0 }

// Last reports whether there may be more of them when all have ended: a service starts others.
func (t Targets) Last() bool {
	return slices.ContainsFunc(t.groups, func(group string) bool { return strings.HasPrefix(group, service.GroupPrefix) })
}

// Has reports whether a task is of one of the groups or families.
func (t Targets) Has(task client.Task) bool {
	family, _, _ := strings.Cut(client.ResourceID(task.Definition), ":")
	return slices.Contains(t.groups, task.Group) || slices.Contains(t.families, family)
}

// Tasks reads the tasks that there are now, those that stopped within the last hour among them: the ones that are named one by one, then those
// of groups and families by index and rank. A name that nothing has is an error.
func (t Targets) Tasks(ctx context.Context, inv *invocation.Invocation) ([]client.Task, error) {
	ids, err := Members(ctx, inv, t.cluster, t.words)
	if err != nil {
		return nil, err
	}
	var tasks []client.Task
	if len(ids) > 0 {
		if tasks, err = inv.DescribeTasks(ctx, t.cluster, ids); err != nil {
			return nil, err
		}
	}
	if !t.Grow() {
		return tasks, nil
	}
	members, err := t.Members(ctx, inv)
	if err != nil {
		return nil, err
	}
	if err := t.checkFound(members); err != nil {
		return nil, err
	}
	for _, task := range members {
		if !slices.ContainsFunc(tasks, func(o client.Task) bool { return o.ARN == task.ARN }) {
			tasks = append(tasks, task)
		}
	}
	return tasks, nil
}

// Members reads the tasks of the groups and families that there are now, by index and rank.
func (t Targets) Members(ctx context.Context, inv *invocation.Invocation) ([]client.Task, error) {
	var ids []string
	var err error
	if len(t.groups) > 0 {
		ids, err = inv.Client.TaskIDs(ctx, t.cluster)
	} else {
		for _, family := range t.families {
			var found []string
			if found, err = client.TaskIDsOfFamily(ctx, inv.Client, t.cluster, family); err != nil {
				break
			}
			ids = append(ids, found...)
		}
	}
	if err != nil {
		return nil, err
	}
	tasks, _, err := inv.Client.DescribeTasks(ctx, t.cluster, ids) // a task that was removed in between is left out
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(task client.Task) bool { return !t.Has(task) })
	format.SortByIndex(tasks)
	return tasks, nil
}

// checkFound fails for a group or a family without a task.
func (t Targets) checkFound(tasks []client.Task) error {
	for _, group := range t.groups {
		if !slices.ContainsFunc(tasks, func(task client.Task) bool { return task.Group == group }) {
			return fmt.Errorf("cluster %s has no task of the group %q; `pinion ps -a -o wide` shows the groups", t.cluster, group)
		}
	}
	for _, family := range t.families {
		if one := (Targets{families: []string{family}}); !slices.ContainsFunc(tasks, one.Has) {
			return fmt.Errorf("cluster %s has no task of the family %q; `pinion ps -a` shows the tasks", t.cluster, family)
		}
	}
	return nil
}
