package secret

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/api/httpx"
	pool "pinion/raftfsm/secret"
)

func putCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "put",
		Usage:     "Create a secret, or put another version of it",
		ArgsUsage: "NAME",
		Description: `The value is what standard input or --file has, byte for byte: 'printf %s' ends no line, 'echo' does. On a terminal it is asked for and not shown:
one line, without its end. It is never an argument: those stand in the list of processes and in the history of the shell.

A secret that exists gets another version. Tasks that start get it from then on; tasks that run keep what they have ('pinion service update
NAME --force' replaces those of a service). Prints the name and the id of the version.

Examples:
   printf %s "$TOKEN" | pinion secret put hf-token
   pinion secret put tls-key --file server.key --description "*.example.com"
   pinion secret put tls-key --file server.key --for-cluster web
   pinion secret put hf-token --for-team vision --for-team speech
   pinion secret put db-password      # asks for it`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "`FILE` with the value, - for standard input"},
			&cli.StringFlag{Name: "description", Usage: "`TEXT` for people: 'pinion secret ls' shows it"},
			&cli.StringSliceFlag{Name: "for-team", Usage: "only tasks of the team `NAME` may use it, and keys for that team see it, which is fixed as its clusters are; may be repeated", DefaultText: "the teams of the access key"},
			&cli.StringSliceFlag{Name: "for-cluster", Usage: "only tasks of the cluster `NAME` may use it, which is fixed when the secret is created; may be repeated", DefaultText: "the clusters of the access key"},
		},
		Action: func(c *cli.Context) error {
			p, err := parsePut(c)
			if err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if p.value, err = readValue(c, p.name); err != nil {
				return err
			}
			answer, err := p.put(c.Context, inv)
			if err != nil {
				return about(p.name, err)
			}
			if endsLine(p.value) {
				inv.Notef("The value ends a line, as that of echo does: the line end is a part of it.")
			}
			return printPut(inv, answer)
		},
	}
}

// put is a value that is to be the current one of a secret.
type put struct {
	name        string
	description string   // empty: as it is
	clusters    []string // whose tasks may use it; none: those of the access key
	teams       []string // likewise
	clientToken string   // makes the request one, however often it arrives
	value       []byte
}

func parsePut(c *cli.Context) (put, error) {
	p := put{name: c.Args().First(), description: c.String("description"), clientToken: httpx.NewUUID()}
	if c.NArg() > 1 || strings.Contains(p.name, "=") {
		return p, exit.Usagef("%s takes the NAME alone: the value comes from standard input or --file, as others can read arguments in the list of processes", c.Command.HelpName)
	}
	p.clusters, p.teams = namesIn(c.StringSlice("for-cluster")), namesIn(c.StringSlice("for-team"))
	switch {
	case c.IsSet("for-cluster") && len(p.clusters) == 0:
		return p, exit.Usagef("--for-cluster needs the name of a cluster")
	case c.IsSet("for-team") && len(p.teams) == 0:
		return p, exit.Usagef("--for-team needs the name of a team")
	}
	return p, nil
}

// namesIn are the names of a flag that may be repeated, and may have several with commas or blanks between.
func namesIn(values []string) (names []string) {
	for _, value := range values {
		names = append(names, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return names
}

// owners are the tags that say whom a new secret is for.
func (p *put) owners() (tags []map[string]string) {
	if len(p.clusters) > 0 {
		tags = append(tags, map[string]string{"Key": pool.TagClusters, "Value": strings.Join(p.clusters, " ")})
	}
	if len(p.teams) > 0 {
		tags = append(tags, map[string]string{"Key": pool.TagTeams, "Value": strings.Join(p.teams, " ")})
	}
	return tags
}

// put creates the secret or puts another version of it, and returns the answer of the host.
func (p *put) put(ctx context.Context, inv *invocation.Invocation) (answer json.RawMessage, err error) {
	in := p.input(map[string]any{"Name": p.name})
	if owners := p.owners(); owners != nil {
		in["Tags"] = owners
	}
	if err := inv.Client.Call(ctx, "CreateSecret", in, &answer); err == nil || !isRefusal(err, "ResourceExistsException") {
		return answer, explainRemoved(ctx, inv, p.name, err)
	}
	if err := p.checkOwners(ctx, inv); err != nil {
		return nil, p.explain(err)
	}
	operation := "PutSecretValue"
	if p.description != "" {
		operation = "UpdateSecret"
	}
	answer, err = callAbout(ctx, inv, operation, p.name, p.input(map[string]any{}))
	return answer, p.explain(err)
}

// input is a request with the value.
func (p *put) input(in map[string]any) map[string]any {
	in["ClientRequestToken"] = p.clientToken
	if p.description != "" {
		in["Description"] = p.description
	}
	if utf8.Valid(p.value) && !bytes.Contains(p.value, []byte{0}) {
		in["SecretString"] = string(p.value)
	} else {
		in["SecretBinary"] = p.value
	}
	return in
}

// checkOwners refuses other clusters and teams than those that an existing secret is for.
func (p *put) checkOwners(ctx context.Context, inv *invocation.Invocation) error {
	if p.owners() == nil {
		return nil
	}
	known, err := describe(ctx, inv, p.name)
	if err != nil {
		return err
	}
	return cmp.Or(checkStays("for-cluster", "all clusters", known.Clusters, p.clusters), checkStays("for-team", "all teams", known.Teams, p.teams))
}

// checkStays refuses what a flag asks for when a secret is for others.
func checkStays(flag, all string, has, asked []string) error {
	if len(asked) == 0 || slices.Equal(slices.Sorted(slices.Values(has)), slices.Compact(slices.Sorted(slices.Values(asked)))) {
		return nil
	}
	return fmt.Errorf("it exists for %s, which stays: leave --%s out, or choose another name", cmp.Or(strings.Join(has, " and "), all), flag)
}

// explain says why a secret that exists is not found.
func (p *put) explain(err error) error {
	if isRefusal(err, "ResourceNotFoundException") {
		return fmt.Errorf("the name is taken by a secret of clusters or teams that your key is not for: choose another name")
	}
	return err
}

// describe reads a secret without its value.
func describe(ctx context.Context, inv *invocation.Invocation, name string) (known client.Secret, err error) {
	err = inv.Client.Call(ctx, "DescribeSecret", map[string]any{"SecretId": name}, &known)
	return known, err
}

// explainRemoved says what to do about a request that was refused because its secret was removed.
func explainRemoved(ctx context.Context, inv *invocation.Invocation, name string, err error) error {
	if !isRefusal(err, "InvalidRequestException") {
		return err
	}
	if known, describeErr := describe(ctx, inv, name); describeErr != nil || known.DeletedAt.IsZero() {
		return err
	}
	return fmt.Errorf("it was removed: `pinion secret restore %s` brings it back, `pinion secret rm --force %s` frees its name", name, name)
}

// isRefusal reports whether a host has refused a request with an error of a type.
func isRefusal(err error, kind string) bool {
	refused, is := errors.AsType[*client.APIError](err)
	return is && refused.Type == kind
}

// endsLine reports whether a value is one line with its end: of several lines the last end is meant.
func endsLine(value []byte) bool {
	return bytes.HasSuffix(value, []byte("\n")) && bytes.Count(value, []byte("\n")) == 1
}

func printPut(inv *invocation.Invocation, answer json.RawMessage) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(answer)
	}
	var version struct{ Name, VersionId string }
	if err := json.Unmarshal(answer, &version); err != nil {
		return fmt.Errorf("the host's answer cannot be read: %w", err)
	}
	_, err := fmt.Fprintln(inv.Out, version.Name, version.VersionId)
	return err
}
