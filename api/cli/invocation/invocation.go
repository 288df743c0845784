// Package invocation is one call of the pinion command: the host that it talks to, its streams, its output format and its
// clock, and the steps that several commands share.
package invocation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/table"
	"pinion/api/client"
	"pinion/packaging/backoff"
)

// Output formats, values of -o.
const (
	Table = "table"
	Wide  = "wide"
	JSON  = "json"
)

// Invocation is what a command works with.
type Invocation struct {
	Client *client.Client
	Out    io.Writer // answers
	Err    io.Writer // progress, notes and errors, never mixed with answers
	Output string    // Table, Wide or JSON
	Screen table.Screen
	UTC    bool // times are shown in UTC, not in local time
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error

	Connection Connection // the host that Client talks to, and the key that acts
}

// notePassed tells which key does not act although something names it.
func (inv *Invocation) notePassed() {
	if to := inv.Connection; to.Passed != "" {
		inv.Notef("This acts as %s, not as %s.", to.Actor(), to.Passed)
	}
}

// passUnknown goes on without a key that may be Amazon's, once the pool has said that it does not know it.
func (inv *Invocation) passUnknown() {
	if !inv.Connection.MayBeUnknown {
		return
	}
	inv.Connection.Unknown = func() {
		to := &inv.Connection
		to.Passed = fmt.Sprintf("%s (%s), which this pool does not know", to.Because, to.KeyID)
		to.KeyID, to.Secret, to.Because = "", "", ""
		inv.notePassed()
	}
}

// System is the clock and the signals of the process; a zero field is the real one.
type System struct {
	Now     func() time.Time
	Sleep   func(ctx context.Context, d time.Duration) error
	Signals <-chan os.Signal
	Screen  *table.Screen
}

// Clock returns the current time.
func (s System) Clock() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// ScreenOf is the terminal that a command writes to.
func (s System) ScreenOf(c *cli.Context) table.Screen {
	if s.Screen != nil {
		return *s.Screen
	}
	return table.ScreenOf(c.App.Writer)
}

// heapGrowth is how much the heap of a command may grow before it is collected, in percent of what lives: a command reads one answer and
// ends, and of a long list the collector would take a tenth of the time.
const heapGrowth = 400

// Invoke prepares a command that talks to a host.
func (s System) Invoke(c *cli.Context) (*Invocation, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	to, err := Connect(c, s.Clock())
	if err != nil {
		return nil, err
	}
	inv := &Invocation{Out: c.App.Writer, Err: c.App.ErrWriter, Screen: s.ScreenOf(c), UTC: UTC(c), Now: s.Clock, Sleep: s.Sleep, Connection: to}
	inv.notePassed()
	inv.passUnknown()
	host, err := client.New(inv.Connection.Config)
	if err != nil {
		return nil, err
	}
	output, err := OutputFormat(c)
	if err != nil {
		return nil, err
	}
	inv.Client, inv.Output = host, output
	if inv.Sleep == nil {
		inv.Sleep = backoff.Sleep
	}
	return inv, nil
}

// Interrupts delivers Ctrl-C, SIGTERM and the end of the terminal until release is called.
func (s System) Interrupts() (signals <-chan os.Signal, release func()) {
	if s.Signals != nil {
		return s.Signals, func() {}
	}
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return caught, func() { signal.Stop(caught) }
}

// OutputFormat is the value of -o, checked.
func OutputFormat(c *cli.Context) (string, error) {
	switch format := GlobalFlag(c, "output"); format {
	case Table, Wide, JSON:
		return format, nil
	default:
		if c.Command != nil && c.Command.Name == "run" {
			return "", exit.Usagef("-o %q is not one of table, wide, json; the output of a task is kept on its host: `pinion logs TASK`", format)
		}
		return "", exit.Usagef("-o %q is not one of table, wide, json", format)
	}
}

// Notef prints a line for people beside the answer.
func (inv *Invocation) Notef(note string, args ...any) {
	fmt.Fprintln(inv.Err, format.Plain(fmt.Sprintf(note, args...)))
}

// PrintJSON prints a document for programs, indented.
func (inv *Invocation) PrintJSON(document any) error { return PrintJSON(inv.Out, document) }

// PrintLines prints one word a line.
func (inv *Invocation) PrintLines(words []string) error {
	for _, word := range words {
		if _, err := fmt.Fprintln(inv.Out, word); err != nil {
			return err
		}
	}
	return nil
}

// PrintDocument prints a document of the host as it is.
func (inv *Invocation) PrintDocument(ctx context.Context, path string) error {
	var document json.RawMessage
	if err := inv.Client.Get(ctx, path, nil, &document); err != nil {
		return err
	}
	return inv.PrintJSON(document)
}

// PrintJSON writes a document for programs, indented.
func PrintJSON(w io.Writer, document any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return err
	}
	return format.PlainJSON(w, text.Bytes())
}

// TableWidth is the number of columns that a line may have; 0 is no limit.
func (inv *Invocation) TableWidth() int {
	if inv.Output == Wide {
		return 0
	}
	return inv.Screen.Columns
}

// PrintTable prints a table. One without rows is said to be empty: a terminal does not get its header.
func (inv *Invocation) PrintTable(t *table.Table) error {
	screen := inv.Screen
	screen.Columns = inv.TableWidth()
	if t.Len() == 0 && t.Empty != "" {
		inv.Notef("%s", t.Empty)
		if screen.Terminal {
			return nil
		}
	}
	return t.Write(inv.Out, screen)
}

// Time shows a time in the zone that the user has asked for: the local one, or UTC with a Z.
func (inv *Invocation) Time(at time.Time) string { return ShowTime(at, inv.UTC) }

// ShowTime shows a time in the local zone, or in UTC with a Z; "-" for none.
func ShowTime(at time.Time, utc bool) string {
	switch {
	case at.IsZero():
		return "-"
	case utc:
		return at.UTC().Format(time.DateTime) + "Z"
	}
	return at.Local().Format(time.DateTime)
}
