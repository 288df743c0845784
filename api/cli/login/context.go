package login

import (
	"cmp"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
)

// Contexts is the command `pinion context`.
func Contexts(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "context",
		Usage: "Choose among logins to several pools",
		Description: `A context is a login to a pool by name: 'pinion login --context NAME' makes one. Commands use the current context, or
that of --context or PINION_CONTEXT. On a host, who may use its socket talks to that host unless a context is named.

Examples:
   pinion context ls
   pinion context use lab
   pinion --context lab ps`,
		Subcommands: []*cli.Command{listCommand(system), useCommand(), removeCommand(system), showCommand()},
	}
}

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List contexts; * is the current one",
		Description: `Examples:
   pinion context ls
   pinion context ls -o json`,
		Action: func(c *cli.Context) error {
			output, err := invocation.OutputFormat(c)
			if err != nil {
				return err
			}
			all, err := describeAll()
			if err != nil {
				return err
			}
			if output == invocation.JSON {
				return invocation.PrintJSON(c.App.Writer, map[string]any{"contexts": all})
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(c.App.ErrWriter, "no contexts; `pinion login` makes one")
				return err
			}
			t := &table.Table{Header: []string{"", "CONTEXT", "HOST", "KEY", "PERSON", "PROBLEM"}, Optional: []string{"PERSON"}}
			for _, d := range all {
				mark := ""
				if d.Current {
					mark = "*"
				}
				t.Add(mark, d.Name, d.Host, d.KeyID, cmp.Or(d.Person, "-"), cmp.Or(d.Problem, "-"))
			}
			return t.Write(c.App.Writer, system.ScreenOf(c))
		},
	}
}

// description is a context without its secret.
type description struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Host    string `json:"host,omitempty"`
	CAFile  string `json:"caFile,omitempty"`
	KeyID   string `json:"accessKeyId,omitempty"`
	Person  string `json:"person,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be used
}

func describe(name, current string) description {
	d := description{Name: name, Current: name == current}
	login, err := invocation.ReadLogin(name)
	if err != nil {
		d.Problem = err.Error()
	} else if login != nil {
		d.Host, d.CAFile, d.KeyID, d.Person = login.Host, login.CAFile, login.KeyID, login.Person
	}
	return d
}

func describeAll() ([]description, error) {
	names, err := invocation.Contexts()
	if err != nil {
		return nil, err
	}
	current, err := invocation.CurrentContext()
	all := make([]description, len(names))
	for i, name := range names {
		all[i] = describe(name, current)
	}
	return all, err
}

func useCommand() *cli.Command {
	return &cli.Command{
		Name: "use", Usage: "Make a context the current one", ArgsUsage: "NAME",
		Description: `Examples:
   pinion context use lab`,
		Action: func(c *cli.Context) error {
			if c.Args().Len() != 1 {
				return exit.Usagef("pinion context use needs the name of one context")
			}
			return invocation.UseContext(c.Args().First())
		},
	}
}

func removeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "Forget contexts and the keys in them", ArgsUsage: "NAME...",
		Description: `The access key of the context is deleted from this machine. In the pool it lives on, which is said: 'pinion key rm ID' ends it for
everybody.

Examples:
   pinion context rm lab`,
		Action: func(c *cli.Context) error {
			for _, name := range c.Args().Slice() {
				login, unreadable := invocation.ReadLogin(name)
				if err := invocation.RemoveContext(name); err != nil {
					return err
				}
				fmt.Fprintln(c.App.Writer, name)
				if unreadable == nil && login != nil {
					fmt.Fprintln(c.App.ErrWriter, format.Plain(keyLeft(login, system.Clock())))
				}
			}
			return nil
		},
	}
}

// keyLeft says what is left of the access key of a context that was removed.
func keyLeft(login *invocation.Login, now time.Time) string {
	const gone = "the access key %s is deleted here"
	switch {
	case login.Check(now) != nil:
		return fmt.Sprintf(gone+", and has expired", login.KeyID)
	case !login.Expires.IsZero():
		return fmt.Sprintf(gone+"; at %s it lives until %s, or until an administrator ends it: pinion key rm %[1]s", login.KeyID, login.Host, login.Expires.Local().Format(time.DateTime))
	}
	return fmt.Sprintf(gone+"; at %s it lives on until an administrator ends it: pinion key rm %[1]s", login.KeyID, login.Host)
}

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "Show a context without its secret, the current one if none is named", ArgsUsage: "[NAME]",
		Description: `Examples:
   pinion context show
   pinion context show lab`,
		Action: func(c *cli.Context) error {
			current, err := invocation.CurrentContext()
			if err != nil {
				return err
			}
			name := cmp.Or(c.Args().First(), invocation.GlobalFlag(c, "context"), current)
			if err := invocation.NeedContext(name); err != nil {
				return err
			}
			return invocation.PrintJSON(c.App.Writer, describe(name, current))
		},
	}
}
