package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pinion/api/cli/client"
)

// desk is what a command works at: the host it talks to, where it writes, and the time.
type desk struct {
	host   *client.Client
	out    io.Writer
	err    io.Writer // progress, notes and errors: never mixed with what a command answers
	output string    // outputTable, outputWide or outputJSON
	now    func() time.Time
	pause  func(ctx context.Context, d time.Duration) error
}

const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
)

// openDesk prepares a command that talks to a host.
func (p Program) openDesk(c *cli.Context) (*desk, error) {
	host, err := client.New(connection(c))
	if err != nil {
		return nil, err
	}
	output, err := outputFormat(c)
	if err != nil {
		return nil, err
	}
	d := &desk{host: host, out: c.App.Writer, err: c.App.ErrWriter, output: output, now: p.now, pause: p.pause}
	if d.now == nil {
		d.now = time.Now
	}
	if d.pause == nil {
		d.pause = pause
	}
	return d, nil
}

func outputFormat(c *cli.Context) (string, error) {
	switch format := global(c, "output"); format {
	case outputTable, outputWide, outputJSON:
		return format, nil
	default:
		return "", usageErrorf("-o %q is not one of table, wide, json", format)
	}
}

// pause waits, and returns early with the reason when ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// note tells the person something beside the answer.
func (d *desk) note(format string, args ...any) { fmt.Fprintf(d.err, format+"\n", args...) }

// printJSON writes a document for programs, indented.
func printJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// width is the number of columns of a terminal, 0 when w is none.
func width(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
