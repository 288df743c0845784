package secret

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
)

// invoke prepares a command about one secret, and returns its name.
func invoke(system invocation.System, c *cli.Context) (*invocation.Invocation, string, error) {
	if c.NArg() > 1 {
		return nil, "", exit.Usagef("%s takes one secret at a time", c.Command.HelpName)
	}
	inv, err := system.Invoke(c)
	return inv, c.Args().First(), err
}

// about says which secret an error is about.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("secret %s: %w", name, err)
}

func getCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "get",
		Usage:     "Print the value of a secret",
		ArgsUsage: "NAME",
		Description: `Prints the value and nothing else, byte for byte; on a terminal a line end follows. Only keys for all clusters and teams of a secret may read it here; tasks
get it by 'pinion run --secret'.

Examples:
   pinion secret get hf-token
   pinion secret get tls-key > server.key
   pinion secret get hf-token --stage AWSPREVIOUS`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "the version with the `ID` that 'pinion secret versions' shows", DefaultText: "the current one"},
			&cli.StringFlag{Name: "stage", Usage: "the version with the `STAGE`", DefaultText: "AWSCURRENT"},
		},
		Action: func(c *cli.Context) error {
			inv, name, err := invoke(system, c)
			if err != nil {
				return err
			}
			in := map[string]any{"SecretId": name}
			for flag, member := range map[string]string{"version": "VersionId", "stage": "VersionStage"} {
				if c.String(flag) != "" {
					in[member] = c.String(flag)
				}
			}
			var answer json.RawMessage
			if err := inv.Client.Call(c.Context, "GetSecretValue", in, &answer); err != nil {
				return about(name, explainRemoved(c.Context, inv, name, err))
			}
			if inv.Output == invocation.JSON {
				return inv.PrintJSON(answer)
			}
			return about(name, printValue(inv, answer))
		},
	}
}

// printValue prints the value in an answer of GetSecretValue. A terminal gets only what it can show.
func printValue(inv *invocation.Invocation, answer json.RawMessage) error {
	var secret struct {
		SecretString string
		SecretBinary []byte
	}
	if err := json.Unmarshal(answer, &secret); err != nil {
		return fmt.Errorf("the host's answer cannot be read: %w", err)
	}
	value := secret.SecretString
	if secret.SecretBinary != nil {
		value = string(secret.SecretBinary)
	}
	if inv.Screen.Terminal {
		if format.Plain(value) != value {
			return exit.Errorf(exit.Failure, "the value has bytes that a terminal cannot show: write it to a file, with > FILE behind the command")
		}
		value = strings.TrimSuffix(value, "\n") + "\n"
	}
	_, err := fmt.Fprint(inv.Out, value)
	return err
}
