package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/cli/upgrade/rolling"
	"pinion/api/upgrade"
)

// poolFlags are those of commands about hosts of the pool.
func poolFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "all", Usage: "all hosts of the pool"},
		&cli.StringSliceFlag{Name: "on-host", Usage: "the host with this `NAME`, or id; may be repeated"},
		&cli.IntFlag{Name: "step", Value: 1, Usage: "agents at a time, `N`, once the first host is well"},
		&cli.DurationFlag{Name: "dwell", Value: DefaultDwell, Usage: "`TIME` for which the hosts of a step have to be well before the next one begins"},
	}
}

// ofPool reports whether a line is about hosts of the pool.
func ofPool(c *cli.Context) bool { return c.Bool("all") || len(c.StringSlice("on-host")) > 0 }

// newPool prepares an upgrade of hosts of the pool, and finds out how far they are.
func newPool(c *cli.Context, system invocation.System, program *program) (*pool, error) {
	only := c.StringSlice("on-host")
	switch {
	case c.Bool("all") && len(only) > 0:
		return nil, exit.Usagef("--all and --on-host both say which hosts: use one of them")
	case c.Args().Present():
		return nil, exit.Usagef("%s takes no arguments; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	inv, err := system.Invoke(c)
	if err != nil {
		return nil, err
	}
	p := &pool{servers: newServers(inv), inv: inv, program: program, pace: rolling.Pace{Step: c.Int("step"), Dwell: c.Duration("dwell")}, timeout: c.Duration("timeout")}
	return p, p.find(c.Context, only)
}

func checkPoolFlags(c *cli.Context) error {
	if dwell := c.Duration("dwell"); dwell < 0 || dwell > upgrade.MaxTimeout {
		return exit.Usagef("--dwell is 0s to %s", upgrade.MaxTimeout)
	}
	if c.Int("step") < 1 || c.Duration("timeout") < time.Second || c.Duration("timeout") > upgrade.MaxTimeout {
		return exit.Usagef("--step is 1 or more, and --timeout a second to %s", upgrade.MaxTimeout)
	}
	return nil
}

// upgradePool is `pinion upgrade --all`.
func upgradePool(c *cli.Context, system invocation.System, file string, signed []byte) error {
	if err := checkPoolFlags(c); err != nil {
		return err
	}
	if signed == nil {
		return exit.Usagef("hosts of a pool take no program without a signature over the network: there is no %s.minisig. `minisign -Sm %s` makes one; root of a host can go without, with `sudo pinion upgrade` there", file, file)
	}
	program, err := openProgram(file, signed)
	if err != nil {
		return err
	}
	defer program.file.Close()
	p, err := newPool(c, system, program)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return p.printOrder()
	}
	return p.interruptible(c.Context, system, func(ctx context.Context) error {
		if p.count(rolling.Pending) > 0 {
			if err := p.bring(ctx); err != nil {
				return err
			}
		}
		err := p.run(ctx)
		if ctx.Err() == nil {
			err = errors.Join(err, p.takeAway(ctx))
		}
		return err
	})
}

// rollBackPool is `pinion upgrade rollback --all`.
func rollBackPool(c *cli.Context, system invocation.System) error {
	if err := checkPoolFlags(c); err != nil {
		return err
	}
	p, err := newPool(c, system, nil)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return err
	}
	return p.interruptible(c.Context, system, p.run)
}

// interruptible runs an upgrade until Ctrl-C, and says how it has ended.
func (p *pool) interruptible(ctx context.Context, system invocation.System, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, release := system.Interrupts()
	defer release()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := run(ctx)
	if ctx.Err() != nil {
		return exit.Errorf(exit.Failure, "paused: %s have the program. What is under way goes on by itself; the same command goes on with the rest", p.progress())
	}
	if err != nil {
		return err
	}
	left := 0
	for _, m := range p.hosts {
		if m.away {
			left++
			p.printStep(m, "away", "it is not in contact with the pool")
		}
	}
	if left > 0 {
		return exit.Errorf(exit.Failure, "%s have the program, %s not: the same command goes on when they are back", p.progress(), format.Plural(left, "host"))
	}
	p.inv.Notef("%s have the program", p.progress())
	return nil
}

// printOrder prints the hosts in the order in which they would get the program.
func (p *pool) printOrder() error {
	hosts := p.states()
	for i := range hosts { // as after the dwell
		hosts[i].Steady = p.pace.Dwell
	}
	p.inv.Notef("a step begins when the hosts of the one before have been well for %s and every server has caught up with the leader", p.pace.Dwell)
	for range len(hosts) {
		decision := rolling.Next(hosts, p.pace)
		if decision.Verdict != rolling.Start {
			break
		}
		for i := range hosts {
			if slices.Contains(decision.Start, hosts[i].ID) {
				hosts[i].State = rolling.Done
				p.printStep(p.host(hosts[i].ID), "next", "its program would be "+p.program.digest)
			}
		}
	}
	for _, m := range p.hosts {
		if m.away {
			p.printStep(m, "away", "it is not in contact with the pool")
		}
	}
	return nil
}

// hostStatus is what `pinion upgrade status --all` shows of a host.
type hostStatus struct {
	Host string `json:"host"`
	ID   string `json:"id"`
	upgrade.Status
}

// poolStatus is `pinion upgrade status --all`.
func poolStatus(c *cli.Context, system invocation.System) error {
	p, err := newPool(c, system, nil)
	if err != nil {
		return err
	}
	only := c.StringSlice("on-host")
	all, shown := []hostStatus{}, &table.Table{Header: []string{"HOST", "VERSION", "PROGRAM", "UPGRADE"}}
	for _, m := range p.hosts {
		switch {
		case m.away:
			shown.Add(m.Name, "", "", "not in contact with the pool")
		case len(only) == 0 || slices.Contains(only, m.ID):
			all = append(all, hostStatus{m.Name, m.ID, m.status})
			shown.Add(statusRow(p.inv, m)...)
		}
	}
	if p.inv.Output == invocation.JSON {
		err = p.inv.PrintJSON(all)
	} else {
		err = shown.Write(p.inv.Out, p.inv.Screen)
	}
	return errors.Join(err, tellLeft(c.Context, p.inv))
}

func statusRow(inv *invocation.Invocation, m *member) []string {
	running, last, text := m.status.Running, m.status.Last, "none"
	if last != nil {
		text = fmt.Sprintf("%s at %s", last.State, inv.Time(last.At))
		if last.Reason != "" {
			text += ": " + format.Plain(last.Reason)
		}
	}
	return []string{m.Name, running.Version, short(running.Digest), text}
}

// short is the beginning of a digest, as people compare them.
func short(digest string) string { return fmt.Sprintf("%.19s", digest) }
