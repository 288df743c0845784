package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
	"pinion/raftfsm/service"
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

// progressOf is "web:4 2 of 3 run, 1 healthy, 25 % of requests, 1 pending; web:3 1 run, 1 healthy, 75 % of requests": the new tasks of a service, and
// the old ones.
func progressOf(s *client.Service, now service.Progress) string {
	var parts []string
	for i, d := range s.Deployments {
		text := fmt.Sprintf("%s %d run", client.ResourceID(d.Definition), d.Running)
		if i == 0 {
			text = fmt.Sprintf("%s %d of %d run", client.ResourceID(d.Definition), d.Running, d.Desired)
		}
		text += healthOf(d.ID, now)
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
		parts = append(parts, fmt.Sprintf("%s (%s) %d of %d run%s", client.ResourceID(set.Definition), set.ID, set.Running, set.Desired, healthOf(set.ID, now)))
	}
	return strings.Join(parts, "; ")
}

// healthOf is ", 2 healthy, 25 % of requests" of a deployment; empty where it is not told.
func healthOf(deployment string, now service.Progress) string {
	for _, d := range now.Deployments {
		if d.ID != deployment {
			continue
		}
		text := fmt.Sprintf(", %d healthy", d.Healthy)
		if d.RequestPercent != nil {
			text += ", " + strconv.FormatFloat(*d.RequestPercent, 'f', -1, 64) + " % of requests"
		}
		return text
	}
	return ""
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
		now, err := f.progress(ctx)
		if err != nil {
			return f.left(ctx, err)
		}
		var s client.Service
		err = inv.RetryUnavailable(ctx, func() (err error) { s, err = find(ctx, inv, cluster, began.Name); return err })
		if err != nil {
			return f.left(ctx, err)
		}
		if err := f.show(ctx, &s, now); err != nil {
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

// progress is what ECS does not tell of the tasks: nothing from a host of a version that does not tell it either. It is asked for before the service, so
// that no more tasks are healthy than run.
func (f *follower) progress(ctx context.Context) (now service.Progress, err error) {
	err = f.inv.RetryUnavailable(ctx, func() error {
		return f.inv.Client.Get(ctx, "/v1/services/progress", url.Values{"cluster": {f.cluster}, "service": {f.name}}, &now)
	})
	if _, refused := errors.AsType[*client.APIError](err); refused && !client.IsUnavailable(err) {
		return now, nil
	}
	return now, err
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
func (f *follower) show(ctx context.Context, s *client.Service, now service.Progress) error {
	for _, e := range newEvents(s, f.event) {
		f.inv.Notef("%s", eventText(e))
		f.event = e.ID
	}
	if line := progressOf(s, now); line != f.shown {
		f.inv.Notef("%s: %s", f.name, line)
		f.shown = line
		if p := s.Primary(); p != nil && p.Desired > 0 && p.Running >= p.Desired && !s.Steady() {
			f.wait("all run; waiting until they have been healthy for a while (--healthy-after)")
		}
		return nil
	}
	if p := s.Primary(); p == nil || p.State != "IN_PROGRESS" || s.Rollout == "" {
		return nil
	}
	var paused pause
	err := f.inv.RetryUnavailable(ctx, func() (err error) { paused, err = pauseOf(ctx, f.inv, s.Rollout); return err })
	f.wait(paused.sentence(f.inv, f.name))
	return err
}

// wait prints what the rollout waits for, once; empty prints nothing.
func (f *follower) wait(text string) {
	if text != "" && text != f.waits {
		f.inv.Notef("%s: %s", f.name, text)
		f.waits = text
	}
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
