// Package change has the commands that change tasks which wait in the queue, or send running tasks back to it.
package change

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
)

// Commands are `pinion task set-priority`, `hold`, `release` and `requeue`.
func Commands(system invocation.System) []*cli.Command {
	return []*cli.Command{setPriority(system), hold(system), release(system), requeue(system)}
}

func setPriority(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "set-priority",
		Usage:     "Change the priority of pending tasks",
		ArgsUsage: "PRIORITY [TASK...]",
		Description: `PRIORITY is 0 to 100; the highest goes first. An access key may have a highest priority of its own. A gang changes as a whole.

Examples:
   pinion task set-priority 80 3f2a91c0
   pinion task set-priority 10 --group nightly`,
		Flags: []cli.Flag{selection.GroupFlag("change all pending tasks of"), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			priority, err := strconv.Atoi(c.Args().First())
			if err != nil || priority < 0 || priority > 100 {
				return exit.Usagef("PRIORITY goes first and is a whole number from 0 to 100, not %q: pinion task set-priority 80 TASK", c.Args().First())
			}
			return apply(c, system, client.SetTaskPriority, c.Args().Tail(), map[string]any{"priority": priority})
		},
	}
}

func hold(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "hold",
		Usage:     "Keep pending tasks from starting until they are released",
		ArgsUsage: "[TASK...]",
		Description: `A task that is held keeps its age in the queue. What an administrator holds, only an administrator can release. A gang is held as a whole.
'pinion queue' and 'pinion why' show who holds a task, since when and why.

Examples:
   pinion task hold 3f2a91c0
   pinion task hold --reason "data set is being copied" --group nightly`,
		Flags: []cli.Flag{reasonFlag("shown with the task"), selection.GroupFlag("hold all pending tasks of"), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			return apply(c, system, client.HoldTasks, c.Args().Slice(), reason(c))
		},
	}
}

func release(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "release",
		Usage:     "Let held tasks start again",
		ArgsUsage: "[TASK...]",
		Description: `Examples:
   pinion task release 3f2a91c0
   pinion task release --group nightly`,
		Flags: []cli.Flag{selection.GroupFlag("release all pending tasks of"), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			return apply(c, system, client.ReleaseTasks, c.Args().Slice(), nil)
		},
	}
}

func reasonFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "reason", Usage: usage + ", `TEXT`"}
}

func reason(c *cli.Context) map[string]any {
	if text := c.String("reason"); text != "" {
		return map[string]any{"reason": text}
	}
	return nil
}

// apply makes a change to the tasks of a command line and prints the ids of those that it was made to. One that could not be changed is
// an error, after the others were changed.
func apply(c *cli.Context, system invocation.System, what client.TaskChange, words []string, options map[string]any) error {
	if len(words) > 0 == (c.String("group") != "") {
		return exit.Usagef("%s needs a TASK or --group NAME, one of the two; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	inv, err := system.Invoke(c)
	if err != nil {
		return err
	}
	ids, err := tasks(c, inv, what, words)
	if err != nil {
		return err
	}
	held := func(string) bool { return true }
	if what == client.ReleaseTasks {
		if held, err = whichAreHeld(c, inv, ids); err != nil {
			return err
		}
	}
	changed, err := client.ChangeTasks(c.Context, inv.Client, what, c.String("cluster"), ids, options)
	if err != nil {
		return err
	}
	if inv.Output == invocation.JSON {
		err = inv.PrintJSON(changed)
	} else {
		var done []string
		for _, arn := range changed.ARNs {
			if id := client.ResourceID(arn); held(id) {
				done = append(done, id)
			} else {
				inv.Notef("task %s was not held", format.ID(id))
			}
		}
		if err = inv.PrintLines(done); err == nil && what == client.RequeueTasks {
			err = noteNextAttempts(c, inv, done)
		}
	}
	refused := []error{err}
	for _, failure := range changed.Failures {
		refused = append(refused, fmt.Errorf("task %s: %s", format.ID(client.ResourceID(failure.ARN)), cmp.Or(failure.Detail, failure.Reason)))
	}
	return errors.Join(refused...)
}

// whichAreHeld tells the tasks that are held from those that a release changes nothing of.
func whichAreHeld(c *cli.Context, inv *invocation.Invocation, ids []string) (func(id string) bool, error) {
	before, _, err := inv.Client.DescribeTasks(c.Context, c.String("cluster"), ids) // of one that is missing, the host says so
	free := map[string]bool{}
	for _, task := range before {
		free[task.ID()] = task.Attribute("pinion.held-by") == ""
	}
	return func(id string) bool { return !free[id] }, err
}

// tasks are the tasks that a command line names; of a group those that the change is for.
func tasks(c *cli.Context, inv *invocation.Invocation, what client.TaskChange, words []string) ([]string, error) {
	cluster, group := c.String("cluster"), c.String("group")
	if group == "" {
		return selection.Resolve(c.Context, inv, cluster, words)
	}
	all, err := selection.GroupTasks(c.Context, inv, cluster, group)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t client.Task) bool {
		pending := t.Status == "PROVISIONING"
		return t.Desired == "STOPPED" || pending == (what == client.RequeueTasks)
	})
	if len(all) == 0 {
		is := "pending"
		if what == client.RequeueTasks {
			is = "running"
		}
		return nil, fmt.Errorf("no task of the group %q in cluster %s is %s; `pinion ps -a -o wide` shows them", group, cluster, is)
	}
	return client.TaskIDs(all), nil
}
