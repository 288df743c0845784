package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
)

// pollInterval is the pause between two looks at a service that changes.
const pollInterval = time.Second

// call runs an operation, and prints the warnings that come back.
func call(ctx context.Context, inv *invocation.Invocation, operation string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	reply, err := inv.Client.Send(ctx, operation, "application/json", body)
	for _, warning := range reply.Warnings {
		inv.Notef("warning: %s", warning)
	}
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(reply.Body, out); err != nil {
		return fmt.Errorf("%s: the host's answer cannot be read: %w", operation, err)
	}
	return nil
}

// printLine prints a value as one line of JSON.
func printLine(inv *invocation.Invocation, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	return format.PlainJSON(inv.Out, text.Bytes())
}

// progressOf is "web:4 2 of 3 run, 1 pending; web:3 1 run": the new tasks of a service, and the old ones.
func progressOf(s *client.Service) string {
	var parts []string
	for i, d := range s.Deployments {
		text := fmt.Sprintf("%s %d run", client.ResourceID(d.Definition), d.Running)
		if i == 0 {
			text = fmt.Sprintf("%s %d of %d run", client.ResourceID(d.Definition), d.Running, d.Desired)
		}
		if d.Pending > 0 {
			text += fmt.Sprintf(", %d pending", d.Pending)
		}
		if d.Failed > 0 {
			text += fmt.Sprintf(", %d failed", d.Failed)
		}
		if i == 0 || d.Running+d.Pending > 0 {
			parts = append(parts, text)
		}
	}
	for _, set := range s.TaskSets {
		parts = append(parts, fmt.Sprintf("%s (%s) %d of %d run", client.ResourceID(set.Definition), set.ID, set.Running, set.Desired))
	}
	return strings.Join(parts, "; ")
}

// follower shows how a service gets to be what it is to be.
type follower struct {
	inv     *invocation.Invocation
	cluster string
	name    string
	shown   string // the last line of progress
	waits   string // the last line of what the rollout waits for
	event   string // id of the newest event that was shown, or was there before
}

// Follow follows the rollout of a service that an answer shows, until it is steady. A rollout that failed, or was replaced by another one, is an error.
func Follow(ctx context.Context, inv *invocation.Invocation, cluster string, began client.Service) error {
	f := &follower{inv: inv, cluster: cluster, name: began.Name}
	if len(began.Events) > 0 {
		f.event = began.Events[0].ID
	}
	mine := ""
	if p := began.Primary(); p != nil {
		mine = p.ID
	}
	for {
		var s client.Service
		err := inv.RetryUnavailable(ctx, func() (err error) { s, err = find(ctx, inv, cluster, began.Name); return err })
		if err != nil {
			return f.left(ctx, err)
		}
		if err := f.show(ctx, &s); err != nil {
			return f.left(ctx, err)
		}
		if over, err := outcome(&s, mine); over {
			return err
		}
		if err := inv.Sleep(ctx, pollInterval); err != nil {
			return f.left(ctx, err)
		}
	}
}

// left is the error of a display that was left: the rollout goes on.
func (f *follower) left(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	f.inv.Notef("the rollout of %s goes on; `pinion service events -f %s` follows it", f.name, f.name)
	return exit.Silent(exit.Interrupted)
}

// outcome is how a rollout ended, once it has.
func outcome(s *client.Service, mine string) (over bool, err error) {
	p := s.Primary()
	switch {
	case s.Status == "ACTIVE" && s.IsExternal():
		return s.Steady(), nil
	case s.Status != "ACTIVE" || p == nil:
		return true, fmt.Errorf("the service %s is %s: somebody deleted it", s.Name, s.Status)
	case p.ID == mine && p.State == "FAILED":
		return true, fmt.Errorf("the rollout of %s failed: %s It has no deployment to go back to: update it, or scale it to 0", s.Name, p.Reason)
	case !s.Steady():
		return false, nil
	case p.ID != mine:
		return true, fmt.Errorf("the service %s runs %s again: its rollout was replaced or rolled back; `pinion service events %s` says why", s.Name, client.ResourceID(p.Definition), s.Name)
	}
	return true, nil
}

// show prints what has changed: new events, how many tasks of each deployment there are, and once nothing starts or stops, which answer the rollout waits for.
func (f *follower) show(ctx context.Context, s *client.Service) error {
	for _, e := range newEvents(s, f.event) {
		f.inv.Notef("%s", eventText(e))
		f.event = e.ID
	}
	if line := progressOf(s); line != f.shown {
		f.inv.Notef("%s: %s", f.name, line)
		f.shown = line
		if p := s.Primary(); p != nil && p.Desired > 0 && p.Running >= p.Desired && !s.Steady() {
			f.inv.Notef("%s: all run; waiting until they have been healthy for a while (--healthy-after)", f.name)
		}
		return nil
	}
	if p := s.Primary(); p == nil || p.State != "IN_PROGRESS" || s.Rollout == "" {
		return nil
	}
	var now pause
	err := f.inv.RetryUnavailable(ctx, func() (err error) { now, err = pauseOf(ctx, f.inv, s.Rollout); return err })
	if line := now.sentence(f.inv, f.name); line != "" && line != f.waits {
		f.inv.Notef("%s: %s", f.name, line)
		f.waits = line
	}
	return err
}

// finish prints a service that was changed, once it is steady unless detach is set.
func finish(ctx context.Context, inv *invocation.Invocation, cluster string, changed listing.Item[client.Service], detach bool) error {
	name := changed.Value.Name
	if !detach {
		if err := Follow(ctx, inv, cluster, changed.Value); err != nil {
			return err
		}
	}
	if inv.Output != invocation.JSON {
		_, err := fmt.Fprintln(inv.Out, name)
		return err
	}
	if detach {
		return inv.PrintJSON(changed)
	}
	now, err := describe(ctx, inv, cluster, []string{name})
	if err != nil {
		return err
	}
	return inv.PrintJSON(now[0])
}
