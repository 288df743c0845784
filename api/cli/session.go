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

// session is what a command works at: the host it talks to, where it writes, and the time.
type session struct {
	client *client.Client
	out    io.Writer
	err    io.Writer // progress, notes and errors: never mixed with what a command answers
	output string    // outputTable, outputWide or outputJSON
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
}

const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
)

// newSession prepares a command that talks to a host.
func (p Program) newSession(c *cli.Context) (*session, error) {
	host, err := client.New(connection(c))
	if err != nil {
		return nil, err
	}
	output, err := outputFormat(c)
	if err != nil {
		return nil, err
	}
	s := &session{client: host, out: c.App.Writer, err: c.App.ErrWriter, output: output, now: p.now, sleep: p.sleep}
	if s.now == nil {
		s.now = time.Now
	}
	if s.sleep == nil {
		s.sleep = sleep
	}
	return s, nil
}

func outputFormat(c *cli.Context) (string, error) {
	switch format := globalFlag(c, "output"); format {
	case outputTable, outputWide, outputJSON:
		return format, nil
	default:
		return "", usageErrorf("-o %q is not one of table, wide, json", format)
	}
}

// sleep waits, and returns early with the reason when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notef tells the person something beside the answer.
func (s *session) notef(format string, args ...any) { fmt.Fprintf(s.err, format+"\n", args...) }

// printJSON writes a document for programs, indented.
func printJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// terminalWidth is the number of columns of a terminal, 0 when w is none.
func terminalWidth(w io.Writer) int {
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
