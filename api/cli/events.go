package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/audit"
	"pinion/api/cli/access"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
)

// eventID is the id of an event, or the index in it.
var eventID = lazyregexp.New(`^[0-9]+(-[0-9]+)?$`)

func eventsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "events",
		Usage: "Stream state-change events of tasks, services, hosts, clusters, GPUs and leaders",
		Description: `Shows the events that the host still has (some thousands), the oldest first; with -f new events as they happen. With -o json
each event is one line, as Amazon EventBridge would deliver it, with times in UTC.

Examples:
   pinion events -f
   pinion events -f --type task --cluster lab
   pinion events -f --type host,leader   # DISCONNECTED, LOST, BACK and LEADER among them
   pinion events -f -o json | jq .detail.lastStatus
   pinion events -f --type task --format '{{id .detail.taskArn}} {{.detail.lastStatus}}'
   pinion events -f --since 1234      # events after index 1234, and new ones
   pinion events -f --type refusal    # what this host refuses, for admin keys; 'pinion audit' has those before`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow new events until Ctrl-C"},
			&cli.StringFlag{Name: "cluster", DefaultText: "all", Usage: "only events of the cluster `NAME`"},
			&cli.StringFlag{Name: "type", DefaultText: "all", Usage: "only events of these `KINDS`, separated by commas: task, host, cluster, gpu, leader, service, service-action, deployment, hook; refusal is none of \"all\""},
			&cli.StringFlag{Name: "format", Usage: "print each event by a Go `TEMPLATE` over its JSON"},
			&cli.StringFlag{Name: "since", Usage: "only events after this `INDEX` or event id"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usagef("pinion events takes no arguments; see pinion events --help")
			}
			if since := c.String("since"); since != "" && !eventID.MatchString(since) {
				return exit.Usagef("--since %s: events are chosen by an index or an id such as 1234 or 1234-0, not by a time; `pinion ps --since TIME` lists the tasks that ended since then", since)
			}
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			var template *listing.Template
			if text := c.String("format"); strings.HasPrefix(text, "table ") {
				return exit.Usagef("--format: events have no table, for there is no last one")
			} else if text != "" {
				if template, err = listing.Parse(text, inv.UTC); err != nil {
					return err
				}
			}
			return printEvents(c.Context, inv, template, client.EventQuery{
				Cluster: c.String("cluster"), Types: c.String("type"), Since: c.String("since"), Follow: c.Bool("follow"),
			})
		},
	}
}

// printEvents prints events. With q.Follow it resumes an interrupted stream after the last event, at any host that answers.
func printEvents(ctx context.Context, inv *invocation.Invocation, template *listing.Template, q client.EventQuery) error {
	for {
		progressed, interrupted := false, false
		err := inv.RetryUnavailable(ctx, func() error {
			err := inv.Client.Events(ctx, q, func(e client.Event) error {
				q.Since, progressed = cmp.Or(e.ID, q.Since), true
				return printEvent(inv, template, e)
			})
			if interrupted = progressed && q.Follow && errors.Is(err, client.ErrEventsInterrupted); interrupted {
				return inv.Sleep(ctx, invocation.PollMin) // there was progress: the retries start anew
			}
			return err
		})
		if errors.Is(err, context.Canceled) {
			return nil // Ctrl-C is how following ends
		}
		if err != nil || !interrupted {
			return err
		}
	}
}

func printEvent(inv *invocation.Invocation, template *listing.Template, e client.Event) error {
	if e.Type == "" {
		return nil
	}
	if template != nil {
		return template.Print(inv, []json.RawMessage{json.RawMessage(e.Data)}, nil)
	}
	if inv.Output == invocation.JSON {
		return format.PlainJSON(inv.Out, append(slices.Clone(e.Data), '\n'))
	}
	var envelope struct {
		Time   time.Time       `json:"time"`
		Detail json.RawMessage `json:"detail"`
	}
	err := json.Unmarshal(e.Data, &envelope)
	text := ""
	switch {
	case err != nil:
	case e.Type == "service" || e.Type == "service-action" || e.Type == "deployment" || e.Type == "hook":
		text, err = serviceEventText(e.Type, envelope.Detail)
	default:
		text, err = eventText(e.Type, envelope.Time, envelope.Detail)
	}
	if err != nil {
		return fmt.Errorf("event %s cannot be read: %w. Client and host may be of different versions: see `pinion version`", e.ID, err)
	}
	_, err = fmt.Fprintf(inv.Out, "%s  %-7s  %s\n", inv.Time(envelope.Time), e.Type, format.Plain(text))
	return err
}

// eventText is the state after the event, in one line.
func eventText(kind string, at time.Time, detail json.RawMessage) (string, error) {
	if kind == "task" {
		var task client.Task
		err := json.Unmarshal(detail, &task)
		note := format.ExitSummary(task)
		if by := task.Attribute("pinion.held-by"); by != "" {
			note = "held by " + by
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", format.ID(task.ID()), client.ResourceID(task.Definition), task.Status, note)), err
	}
	if kind == "refusal" {
		var refusal audit.Line
		err := json.Unmarshal(detail, &refusal)
		return strings.Join(strings.Fields(strings.Join(access.AuditRow(refusal, true)[2:], " ")), " "), err
	}
	var now struct {
		Cluster   string `json:"clusterName"`
		Status    string `json:"status"`
		Machine   string `json:"ec2InstanceId"`
		Connected bool   `json:"agentConnected"`
		Host      string `json:"host"`
		UUID      string `json:"uuid"`
		Health    string `json:"health"`
		Problem   string `json:"problem"`

		Change    string    `json:"change"`
		LastHeard time.Time `json:"lastHeardAt"`
		Running   int       `json:"runningTasksCount"`
		Before    string    `json:"before"`
		Term      uint64    `json:"term"`
	}
	err := json.Unmarshal(detail, &now)
	switch kind {
	case "leader":
		text := fmt.Sprintf("%s LEADER of term %d", now.Host, now.Term)
		if now.Before != "" {
			text += ", before: " + now.Before
		}
		return text, err
	case "host":
		if now.Change == "DISCONNECTED" {
			return fmt.Sprintf("%s DISCONNECTED, last heard %s before, running tasks: %d", now.Machine, at.Sub(now.LastHeard).Round(time.Second), now.Running), err
		}
		if now.Change != "" {
			return now.Machine + " " + now.Change, err
		}
		text := now.Machine + " " + now.Status
		if !now.Connected && now.Status != "INACTIVE" {
			text += " disconnected"
		}
		return text, err
	case "gpu":
		if now.Status == "INACTIVE" {
			now.Health = "gone"
		}
		return strings.TrimSpace(fmt.Sprintf("%s on %s %s %s", now.UUID, now.Host, now.Health, now.Problem)), err
	}
	return now.Cluster + " " + now.Status, err
}

// serviceEventText is eventText for what happens to services.
func serviceEventText(kind string, detail json.RawMessage) (string, error) {
	var now struct {
		Service string `json:"serviceName"`
		Status  string `json:"status"`
		Desired int    `json:"desiredCount"`
		Event   string `json:"eventName"`
		Reason  string `json:"reason"`
		Stage   string `json:"lifecycleStage"`
		ARN     string `json:"serviceArn"`
	}
	err := json.Unmarshal(detail, &now)
	if kind == "service" {
		return fmt.Sprintf("%s %s, %d wanted", now.Service, now.Status, now.Desired), err
	}
	if kind == "hook" {
		return fmt.Sprintf("%s %s at %s", now.Event, client.ResourceID(now.ARN), now.Stage), err
	}
	return strings.TrimSpace(now.Event + " " + now.Reason), err
}
