// Package access is the commands about who may do what: access keys, join tokens, logins, teams, limits, and the audit log.
package access

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/audit"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
)

// Audit is the command `pinion audit`.
func Audit(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "Show who was refused, and what administrators read and changed",
		Description: `Reads this machine's own record, in the data directory; the server that leads the pool decides on most requests, so look there first. A refusal
that came again within a minute is counted, not repeated. With -o json each entry is one line.

Examples:
   sudo pinion audit --since 1h
   sudo pinion audit -o json | jq 'select(.outcome == "refused")'`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "only entries since `TIME`: how long ago, such as 10m, or a time such as 2006-01-02T15:04:05Z"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usagef("pinion audit takes no arguments; see pinion audit --help")
			}
			output, err := invocation.OutputFormat(c)
			if err != nil {
				return err
			}
			since, err := invocation.ParseSince(c.String("since"), system.Clock())
			if err != nil {
				return err
			}
			dir := filepath.Join(invocation.DataDir(c), "audit")
			if output == invocation.JSON {
				return readAudit(c, dir, since, func(e audit.Line) error {
					line, err := json.Marshal(e)
					if err != nil {
						return err
					}
					return format.PlainJSON(c.App.Writer, append(line, '\n'))
				})
			}
			t := &table.Table{Header: []string{"TIME", "OUTCOME", "PRINCIPAL", "ADDRESS", "OPERATION", "MORE", "ERROR"}, Optional: []string{"MORE", "ADDRESS"}}
			if err := readAudit(c, dir, since, func(e audit.Line) error { t.Add(AuditRow(e, invocation.UTC(c))...); return nil }); err != nil {
				return err
			}
			return t.Write(c.App.Writer, system.ScreenOf(c))
		},
	}
}

// readAudit reads the record, and says how many lines of it cannot be read.
func readAudit(c *cli.Context, dir string, since time.Time, emit func(audit.Line) error) error {
	damaged, err := audit.Read(dir, since, emit)
	if damaged > 0 {
		fmt.Fprintf(c.App.ErrWriter, "%d lines of %s cannot be read and are left out.\n", damaged, dir)
	}
	return err
}

// AuditRow shows an entry of the audit log: its time, outcome, caller, address, operation, repetitions and error.
func AuditRow(e audit.Line, utc bool) []string {
	more := ""
	if e.Repeats > 0 {
		more = "+" + strconv.Itoa(e.Repeats)
	}
	what := e.Error
	if e.Message != "" {
		what += ": " + format.Principals(e.Message)
	}
	if e.Command != "" {
		what += ": " + e.Command
	}
	return []string{invocation.ShowTime(e.Time, utc), string(e.Outcome), principalName(e), e.Address, e.Operation, more, what}
}

// principalName is the access key of an entry with its name before it, as several keys may have the same name.
func principalName(e audit.Line) string {
	if e.KeyName == "" {
		return shortPrincipal(e.Principal)
	}
	return fmt.Sprintf("%s (%s)", e.KeyName, shortPrincipal(e.Principal))
}

// shortPrincipal is the access key of an ARN, or "root".
func shortPrincipal(arn string) string {
	if arn == "" {
		return "nobody"
	}
	for i := len(arn) - 1; i >= 0; i-- {
		if arn[i] == '/' || arn[i] == ':' {
			return arn[i+1:]
		}
	}
	return arn
}
