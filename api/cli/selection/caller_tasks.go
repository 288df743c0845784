package selection

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// FilterOwn keeps the tasks that the caller ran, with --mine; without it all of them.
func FilterOwn(ctx context.Context, c *cli.Context, inv *invocation.Invocation, tasks []client.Task) ([]client.Task, error) {
	if !c.Bool("mine") {
		return tasks, nil
	}
	owner, err := inv.Owner(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(tasks, func(t client.Task) bool { return format.Key(t) != cmp.Or(owner, format.Root) }), nil
}

// ActiveOwnTasks returns the ids of the tasks of the caller that have not stopped, at least one, in stop order. Those of services are left out: their
// services would replace them.
func ActiveOwnTasks(ctx context.Context, c *cli.Context, inv *invocation.Invocation) ([]string, error) {
	cluster := c.String("cluster")
	tasks, err := client.ListedTasks(ctx, inv.Client, cluster)
	if err == nil {
		tasks, err = FilterOwn(ctx, c, inv, tasks)
	}
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	all := len(tasks)
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.IsKept() })
	if kept := all - len(tasks); kept > 0 {
		inv.Notef("%s of services run on: `pinion service rm` ends a service", format.Plural(kept, "task"))
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("no task of yours is left to stop in cluster %s; `pinion ps -o wide` shows whose each is", cluster)
	}
	inv.Notef("stopping %s of yours ...", format.Plural(len(tasks), "task"))
	return client.TaskIDs(invocation.StopOrder(tasks)), nil
}
