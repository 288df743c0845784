package service

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/definition"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/raftfsm/service"
)

func dryRunCommand(system invocation.System) *cli.Command {
	file := &cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "run the task definition of `FILE`, which is not registered for it; - for standard input"}
	return &cli.Command{
		Name:      "plan",
		Usage:     "Show what an update would do to the tasks of a service, without doing it",
		ArgsUsage: "SERVICE",
		Description: `The pool takes the steps of the rollout on a copy of its state, as it would really take them: which tasks stop and start in which order, on which
hosts, how many are healthy meanwhile, and whether old ones have to stop first. It supposes that new tasks get healthy, and that nothing
else changes.

Examples:
   pinion service plan web --image my/server:2
   pinion service plan web -f web.yaml
   pinion service plan web --replicas 12 -o json`,
		Flags: append(updateFlags(), file, invocation.ClusterFlag()),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return dryRun(c, inv)
		},
	}
}

func dryRun(c *cli.Context, inv *invocation.Invocation) error {
	update, document, err := updateInput(c, inv)
	if err != nil {
		return err
	}
	if path := c.String("file"); path != "" {
		if document != nil || update["taskDefinition"] != nil {
			return exit.Usagef("give --image, --definition or -f, one of the three")
		}
		if document, err = definition.ReadJSON(path, c.App.Reader); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	in := map[string]any{"update": update}
	if document != nil {
		in["definition"] = json.RawMessage(document)
	}
	var answer json.RawMessage
	if err := call(c.Context, inv, "services/plan", in, &answer); err != nil {
		return err
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(answer)
	}
	var p service.DryRun
	if err := json.Unmarshal(answer, &p); err != nil {
		return fmt.Errorf("the host's answer cannot be read: %w", err)
	}
	return printDryRun(inv, &p)
}

func printDryRun(inv *invocation.Invocation, p *service.DryRun) error {
	t := &table.Table{Header: []string{"STEP", "ACTION", "TASK", "DEFINITION", "HOST", "GPUS", "HEALTHY"}, Empty: "no task starts or stops"}
	for i, m := range p.Moves {
		t.Add(strconv.Itoa(i+1), string(m.Action), m.Task, m.Definition, m.Host, strconv.Itoa(m.GPUs), fmt.Sprintf("%d of %d", m.Healthy, p.Desired))
	}
	if err := inv.PrintTable(t); err != nil {
		return err
	}
	for _, line := range summary(p) {
		if _, err := fmt.Fprintln(inv.Out, format.Plain(line)); err != nil {
			return err
		}
	}
	return nil
}

// stagesOf lists stages in a sentence.
func stagesOf(all []service.Stage) string {
	var names []string
	for _, stage := range all {
		names = append(names, string(stage))
	}
	return strings.Join(names, ", ")
}

// summary says in sentences how a rollout goes.
func summary(p *service.DryRun) (lines []string) {
	line := fmt.Sprintf("%d tasks are healthy now, and at least %d all the time.", p.Healthy, p.LeastHealthy)
	if p.StopFirst {
		line += " Old tasks stop first: " + p.Why
	}
	lines = append(lines, line)
	if p.Queued > 0 {
		lines = append(lines, fmt.Sprintf("%d other tasks wait in the queue: what they take of the room is not foreseen.", p.Queued))
	}
	if len(p.Pauses) > 0 {
		lines = append(lines, fmt.Sprintf("It waits %d times until `pinion service continue %s` has it go on: at %s.", len(p.Pauses), p.Service, stagesOf(p.Pauses)))
	}
	if p.Completes {
		return append(lines, fmt.Sprintf("The rollout ends with %d tasks of %s.", p.Desired, p.Definition))
	}
	line = "The rollout does not end by itself."
	if p.WaitsFor != "" {
		line += " " + p.WaitsFor
	}
	return append(lines, line)
}
