package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func eventsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "events",
		Usage: "show what changes: tasks, hosts, clusters, GPUs",
		Description: `Shows the changes that the host remembers, the oldest first; with -f those from now on, as they come. With -o json each is
one line: the event as Amazon EventBridge would deliver it. A host remembers some thousands of changes.

Examples:
   pinion events -f
   pinion events -f --type task --cluster lab
   pinion events -f -o json | jq .detail.lastStatus
   pinion events -f --since 1234      # what came after the index 1234, and what comes`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until Ctrl-C"},
			&cli.StringFlag{Name: "cluster", DefaultText: "all", Usage: "only of the cluster of this `NAME`"},
			&cli.StringFlag{Name: "type", DefaultText: "all", Usage: "only of these `KINDS`, with commas between: task, host, cluster, gpu"},
			&cli.StringFlag{Name: "since", Usage: "only what came after this `INDEX`, or id of an event"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageErrorf("pinion events takes no arguments; see pinion events --help")
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			return s.printEvents(c.Context, client.EventQuery{
				Cluster: c.String("cluster"), Types: c.String("type"), Since: c.String("since"), Follow: c.Bool("follow"),
			})
		},
	}
}

// printEvents shows events; following, it goes on after a broken connection where it was, at any host that answers.
func (s *session) printEvents(ctx context.Context, q client.EventQuery) error {
	for {
		progressed, interrupted := false, false
		err := s.retryUnavailable(ctx, func() error {
			err := s.client.Events(ctx, q, func(e client.Event) error {
				q.Since, progressed = cmp.Or(e.ID, q.Since), true
				return s.printEvent(e)
			})
			if interrupted = progressed && q.Follow && errors.Is(err, client.ErrEventsInterrupted); interrupted {
				return s.sleep(ctx, pollMin) // it had come on, so patience starts anew
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

func (s *session) printEvent(e client.Event) error {
	if e.Type == "" {
		return nil
	}
	if s.output == outputJSON {
		_, err := fmt.Fprintf(s.out, "%s\n", e.Data)
		return err
	}
	var envelope struct {
		Time   time.Time       `json:"time"`
		Detail json.RawMessage `json:"detail"`
	}
	err := json.Unmarshal(e.Data, &envelope)
	text := ""
	if err == nil {
		text, err = eventText(e.Type, envelope.Detail)
	}
	if err != nil {
		return fmt.Errorf("event %s cannot be read: %w. Client and host may be of different versions: see `pinion version`", e.ID, err)
	}
	_, err = fmt.Fprintf(s.out, "%s  %-7s  %s\n", envelope.Time.UTC().Format("2006-01-02T15:04:05Z"), e.Type, text)
	return err
}

// eventText tells in one line what is so now.
func eventText(kind string, detail json.RawMessage) (string, error) {
	if kind == "task" {
		var task client.Task
		err := json.Unmarshal(detail, &task)
		return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", abbreviateID(task.ID()), client.ResourceID(task.Definition), task.Status, exitSummary(task))), err
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
	}
	err := json.Unmarshal(detail, &now)
	switch kind {
	case "host":
		text := now.Machine + " " + now.Status
		if !now.Connected && now.Status != "INACTIVE" {
			text += " lost"
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
