package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// logPath is where the host of a task keeps the log of a container.
type logPath struct {
	Task      string `json:"task"`
	Container string `json:"container"`
	Host      string `json:"host"`
	Path      string `json:"path"`
}

// printLogPaths prints where the logs of tasks are kept: the host, and the file there. A host may have another data directory than this command line knows.
func printLogPaths(ctx context.Context, c *cli.Context, inv *invocation.Invocation, tasks []client.Task) error {
	for _, flag := range []string{"follow", "tail", "since", "until", "grep", "invert-match", "columns", "timestamps"} {
		if c.IsSet(flag) {
			return exit.Usagef("--path shows no lines of a log: leave --%s out", flag)
		}
	}
	dir := invocation.DataDir(c)
	if inv.Connection.Host != "" {
		dir = invocation.DefaultDataDir // --data-dir is about this machine
	}
	hosts, err := inv.HostNames(ctx)
	if err != nil {
		return err
	}
	paths := []logPath{}
	for _, task := range tasks {
		if task.Instance == "" {
			inv.Notef("task %s has no log: it has no host", format.ID(task.ID()))
			continue
		}
		id := client.ResourceID(task.Instance)
		host := cmp.Or(hosts[id], id)
		for _, container := range task.Containers {
			if only := c.String("container"); only == "" || only == container.Name {
				paths = append(paths, logPath{task.ID(), container.Name, host, filepath.Join(dir, "logs", task.ID(), container.Name+".log")})
			}
		}
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(paths)
	}
	for _, p := range paths {
		if _, err := fmt.Fprintln(inv.Out, format.Plain(p.Host+":"+p.Path)); err != nil {
			return err
		}
	}
	if len(paths) > 0 {
		inv.Notef("older parts end in .log.1 and so on; %s is the data directory unless the host was started with another --data-dir", dir)
	}
	return nil
}
