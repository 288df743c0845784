package secret

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// The days for which a removed secret can be restored, as Secrets Manager has them.
const (
	leastDays   = 7
	defaultDays = 30
)

func removeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove secrets: tasks that name them do not start any more",
		ArgsUsage: "NAME...",
		Description: `A removed secret can be restored for 30 days unless --days or --force says otherwise: 'pinion secret restore NAME'. Tasks that run keep what they got.

Examples:
   pinion secret rm hf-token
   pinion secret rm --days 7 hf-token
   pinion secret rm --force hf-token`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "for good and at once: nothing brings it back"},
			&cli.IntFlag{Name: "days", Usage: "it can be restored for `N` days, 7 to 30", DefaultText: "30"},
		},
		Action: func(c *cli.Context) error {
			in := map[string]any{}
			switch days := c.Int("days"); {
			case c.Bool("force") && c.IsSet("days"):
				return exit.Usagef("give --force or --days, one of the two: with --force nothing can be restored")
			case c.Bool("force"):
				in["ForceDeleteWithoutRecovery"] = true
			case c.IsSet("days") && (days < leastDays || days > defaultDays):
				return exit.Usagef("--days is %d to %d, not %d: --force removes a secret at once", leastDays, defaultDays, days)
			case c.IsSet("days"):
				in["RecoveryWindowInDays"] = days
			}
			return eachSecret(system, c, "DeleteSecret", in, func(inv *invocation.Invocation, answer json.RawMessage, name string) error {
				var removed struct{ DeletionDate client.Timestamp }
				if err := json.Unmarshal(answer, &removed); err != nil {
					return fmt.Errorf("the host's answer cannot be read: %w", err)
				}
				if !c.Bool("force") {
					inv.Notef("It can be restored until %s: `pinion secret restore %s`.", inv.Time(removed.DeletionDate.Time), name)
				}
				return nil
			})
		},
	}
}

func restoreCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "Bring removed secrets back",
		ArgsUsage: "NAME...",
		Description: `The secret has the versions that it had. 'pinion secret ls --all' lists what can be restored.

Examples:
   pinion secret restore hf-token`,
		Action: func(c *cli.Context) error {
			return eachSecret(system, c, "RestoreSecret", map[string]any{}, func(*invocation.Invocation, json.RawMessage, string) error { return nil })
		},
	}
}

// eachSecret runs an operation about each secret that the line names, and prints the names, or with -o json the answers. done is called with each answer.
func eachSecret(system invocation.System, c *cli.Context, operation string, in map[string]any, done func(*invocation.Invocation, json.RawMessage, string) error) error {
	inv, err := system.Invoke(c)
	if err != nil {
		return err
	}
	answers := []json.RawMessage{}
	for _, name := range c.Args().Slice() {
		answer, err := callAbout(c.Context, inv, operation, name, in)
		if err != nil {
			return about(name, err)
		}
		if answers = append(answers, answer); inv.Output != invocation.JSON {
			if _, err := fmt.Fprintln(inv.Out, name); err != nil {
				return err
			}
		}
		if err := done(inv, answer, name); err != nil {
			return about(name, err)
		}
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(answers)
	}
	return nil
}

// callAbout runs an operation about a secret.
func callAbout(ctx context.Context, inv *invocation.Invocation, operation, name string, in map[string]any) (answer json.RawMessage, err error) {
	in["SecretId"] = name
	err = inv.Client.Call(ctx, operation, in, &answer)
	return answer, err
}
