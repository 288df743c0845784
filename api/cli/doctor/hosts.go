// Package doctor has hosts of the pool check their machines, and prints what they find.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// maxExamined bounds the hosts that are checked at the same time.
const maxExamined = 16

// examined is what a host has found on its machine.
type examined struct {
	Host     string           `json:"host"`
	HostID   string           `json:"hostId"`
	Findings []client.Finding `json:"findings"`
	Error    string           `json:"error,omitempty"` // why there are none
}

// count is how many findings are of a level.
func (e *examined) count(level string) (n int) {
	for _, f := range e.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Hosts has hosts of the pool check their machines, the named ones or all. The error is exit.Silent when a check has failed, or a host did not answer.
func Hosts(c *cli.Context, inv *invocation.Invocation, names []string) error {
	hosts, err := inv.Client.Hosts(c.Context)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(hosts, func(h client.Host) bool { return h.Name == name || h.ID == name }) {
			return exit.Usagef("there is no host %s: `pinion hosts` lists them", name)
		}
	}
	if len(names) > 0 {
		hosts = slices.DeleteFunc(hosts, func(h client.Host) bool { return !slices.Contains(names, h.Name) && !slices.Contains(names, h.ID) })
	}
	slices.SortFunc(hosts, func(a, b client.Host) int { return format.CompareNames(a.Name, b.Name) })
	all := examineHosts(c.Context, inv, hosts)
	if inv.Output == invocation.JSON {
		err = invocation.PrintJSON(inv.Out, all)
	} else {
		_, err = fmt.Fprint(inv.Out, format.Plain(examinedText(all, len(names) > 0)))
	}
	if err == nil && slices.ContainsFunc(all, func(e examined) bool { return e.Error != "" || e.count(client.FindingFailed) > 0 }) {
		err = exit.Silent(exit.Failure)
	}
	return err
}

func examineHosts(ctx context.Context, inv *invocation.Invocation, hosts []client.Host) []examined {
	all := make([]examined, len(hosts))
	var group errgroup.Group
	group.SetLimit(maxExamined)
	for i, host := range hosts {
		group.Go(func() error {
			findings, err := client.ExamineHost(ctx, inv.Client, host.ID)
			all[i] = examined{Host: host.Name, HostID: host.ID, Findings: findings}
			if err != nil {
				all[i].Error = reasonOf(err)
			}
			return nil
		})
	}
	_ = group.Wait()
	return all
}

// reasonOf is what an error says of the host, without its code.
func reasonOf(err error) string {
	var refused *client.APIError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}

// examinedText has what is not well, with what to do below it, and of hosts that were named also what is.
func examinedText(all []examined, withOK bool) string {
	var text strings.Builder
	width, failed, warnings, silent := 0, 0, 0, 0
	for i := range all {
		width = max(width, len(all[i].Host))
	}
	for i := range all {
		e := &all[i]
		if e.Error != "" {
			silent++
			fmt.Fprintf(&text, "%-*s  %-7s  %-16s  %s\n", width, e.Host, "unknown", "-", e.Error)
		}
		failed, warnings = failed+e.count(client.FindingFailed), warnings+e.count(client.FindingWarning)
		for _, f := range e.Findings {
			if f.Level == client.FindingOK && !withOK {
				continue
			}
			fmt.Fprintf(&text, "%-*s  %-7s  %-16s  %s\n", width, e.Host, f.Level, f.Check, f.Found)
			if f.Do != "" {
				fmt.Fprintf(&text, "%-*s  %-7s  %-16s  -> %s\n", width, "", "", "", f.Do)
			}
		}
	}
	fmt.Fprintf(&text, "%s: %s failed, %s", format.Plural(len(all), "host"), format.Plural(failed, "check"), format.Plural(warnings, "warning"))
	if silent > 0 {
		fmt.Fprintf(&text, "; %s did not answer", format.Plural(silent, "host"))
	}
	return text.String() + "\n"
}
