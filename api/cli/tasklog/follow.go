// Package tasklog prints the logs of tasks.
package tasklog

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Follow emits the lines of a log. With q.Follow it resumes an interrupted stream, without a gap or a repeated line.
func Follow(ctx context.Context, inv *invocation.Invocation, q client.LogQuery, emit func(client.LogLine) error) error {
	if !q.Follow {
		return inv.Client.Logs(ctx, q, emit)
	}
	position := cursor{containers: map[string]*containerPosition{}, slack: resumeSlack}
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

// Printer writes log lines: the standard output of containers to Out, their standard error to Err. It holds lines back while more have
// arrived already; Flush writes what it holds.
type Printer struct {
	Out, Err   io.Writer
	Timestamps bool
	Task       string   // put before each line; empty: nothing
	TaskID     string   // of the task of the next line, a member of its JSON; empty: none
	Names      bool     // put the name of the container before each line
	Color      string   // begins the colour of what is put before a line; empty: none
	JSON       bool     // whole lines as JSON, all of them to Out
	Columns    *Columns // of lines that are JSON; nil: as they are

	held []byte // lines for Out
}

// colorEnd ends a colour of a terminal.
const colorEnd = "\x1b[0m"

// Colors are what the lines of several tasks begin with in turn, so that they are told apart.
var Colors = []string{"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m", "\x1b[96m", "\x1b[93m", "\x1b[92m", "\x1b[95m", "\x1b[94m"}

// maxHeld is when lines are written although more have arrived.
const maxHeld = 32 << 10

// Print writes one line, or holds it back.
func (p *Printer) Print(line client.LogLine) error {
	switch {
	case p.JSON:
		text, err := json.Marshal(struct {
			Task string `json:"task,omitempty"`
			client.LogLine
		}{p.TaskID, line})
		if err != nil {
			return err
		}
		p.held = append(append(p.held, text...), '\n')
	case line.Stream == "stderr":
		if err := p.Flush(); err != nil { // a terminal shows both in order
			return err
		}
		_, err := p.Err.Write(p.append(nil, line))
		return err
	default:
		p.held = p.append(p.held, line)
	}
	if line.More && len(p.held) < maxHeld {
		return nil
	}
	return p.Flush()
}

// append appends a line as people read it.
func (p *Printer) append(b []byte, line client.LogLine) []byte {
	if p.Timestamps {
		b = line.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
		b = append(b, ' ')
	}
	if p.Task != "" || p.Names {
		b = append(b, p.Color...)
	}
	if p.Task != "" {
		b = append(append(b, p.Task...), ' ')
	}
	if p.Names {
		b = append(append(append(b, '['), line.Container...), "] "...)
	}
	if p.Color != "" && (p.Task != "" || p.Names) {
		b = append(b, colorEnd...)
	}
	if p.Columns != nil {
		return append(p.Columns.Append(b, line.Text), '\n')
	}
	return append(append(b, line.Text...), '\n')
}

// Flush writes the lines that are held back.
func (p *Printer) Flush() error {
	if len(p.held) == 0 {
		return nil
	}
	_, err := p.Out.Write(p.held)
	p.held = p.held[:0]
	return err
}
