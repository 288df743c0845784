// Package tasklog prints the logs of tasks.
package tasklog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Follow emits the lines of a log. With q.Follow it resumes an interrupted stream, without a gap or a repeated line.
func Follow(ctx context.Context, inv *invocation.Invocation, q client.LogQuery, emit func(client.LogLine) error) error {
	if !q.Follow {
		return inv.Client.Logs(ctx, q, emit)
	}
	position := cursor{containers: map[string]*reached{}}
	for {
		progressed, interrupted := false, false
		err := inv.RetryUnavailable(ctx, func() error {
			err := inv.Client.Logs(ctx, position.resume(q), func(line client.LogLine) error {
				progressed = true
				if !position.advance(line) {
					return nil
				}
				return emit(line)
			})
			if interrupted = progressed && errors.Is(err, client.ErrLogInterrupted); interrupted {
				return nil // there was progress: the retries start anew
			}
			return err
		})
		if err != nil || !interrupted {
			return err
		}
	}
}

// Printer writes log lines: the standard output of containers to Out, their standard error to Err.
type Printer struct {
	Out, Err   io.Writer
	Timestamps bool
	Task       string // put before each line; empty: nothing
	Names      bool   // put the name of the container before each line
	JSON       bool   // whole lines as JSON, all of them to Out
}

// Print writes one line.
func (p Printer) Print(line client.LogLine) error {
	if p.JSON {
		return json.NewEncoder(p.Out).Encode(line)
	}
	w := p.Out
	if line.Stream == "stderr" {
		w = p.Err
	}
	prefix := ""
	if p.Timestamps {
		prefix = line.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " "
	}
	if p.Task != "" {
		prefix += p.Task + " "
	}
	if p.Names {
		prefix += "[" + line.Container + "] "
	}
	_, err := fmt.Fprintln(w, prefix+line.Text)
	return err
}
