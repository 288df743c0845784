package access

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// issuerDocument is the issuer of the pool and what its groups give.
type issuerDocument struct {
	client.LoginIssuer
	UserClaim   string          `json:"userClaim"`
	GroupsClaim string          `json:"groupsClaim"`
	Lifetime    string          `json:"lifetime"`
	Groups      []groupDocument `json:"groups"`
}

// groupDocument is what a group gives.
type groupDocument struct {
	Group   string `json:"group"`
	Role    string `json:"role"`
	Cluster string `json:"cluster,omitempty"`
	client.KeyLimits
}

// OIDC is the command `pinion oidc`.
func OIDC(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "oidc",
		Usage: "Let people log in at an OpenID Connect issuer",
		Description: `People run 'pinion login' and get an access key for some hours, with the rights of their groups. A group gives what 'pinion
oidc map' says; a person without such a group is refused. Changes hold for later logins: 'pinion keys rm' ends the key of
an earlier one.

Examples:
   pinion oidc set --issuer https://login.example.com/realms/lab --client-id pinion
   pinion oidc map --role submit --cluster lab --max-gpus 8 researchers
   pinion oidc map --role admin operators
   pinion oidc show`,
		Subcommands: []*cli.Command{oidcSetCommand(system), oidcMapCommand(system), oidcUnmapCommand(system), oidcShowCommand(system), oidcRemoveCommand(system)},
	}
}

func oidcSetCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "set",
		Usage: "Name the issuer whose people may log in",
		Description: `The client is a public one (without a secret) with the device flow enabled. Servers reach the issuer over https. Another issuer or
client id begins without groups; what is not given has its default.

Examples:
   pinion oidc set --issuer https://login.example.com/realms/lab --client-id pinion
   pinion oidc set --issuer https://idp.lab:8443 --client-id pinion --issuer-ca idp-ca.pem --user-claim preferred_username --lifetime 12h`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "issuer", Usage: "`URL` of the issuer, as in its ID tokens (required)"},
			&cli.StringFlag{Name: "client-id", Usage: "`ID` of the pool's client there (required)"},
			&cli.StringFlag{Name: "user-claim", Usage: "`CLAIM` that names the person", DefaultText: "email"},
			&cli.StringFlag{Name: "groups-claim", Usage: "`CLAIM` that lists the person's groups", DefaultText: "groups"},
			&cli.StringSliceFlag{Name: "scope", Usage: "`SCOPE` to ask for beside openid; may be repeated", DefaultText: "email, profile"},
			&cli.StringFlag{Name: "lifetime", Usage: "`DURATION` for which a key lives, at most 24h", DefaultText: "8h"},
			&cli.StringFlag{Name: "issuer-ca", Usage: "`FILE` with the CA of the issuer's certificate", DefaultText: "the CAs of the hosts"},
		},
		Action: func(c *cli.Context) error {
			if c.String("issuer") == "" || c.String("client-id") == "" {
				return exit.Usagef("--issuer and --client-id are required")
			}
			wanted := map[string]any{"issuer": c.String("issuer"), "clientId": c.String("client-id"), "userClaim": c.String("user-claim"),
				"groupsClaim": c.String("groups-claim"), "lifetime": c.String("lifetime"), "scopes": []string{"email", "profile"}}
			if c.IsSet("scope") {
				wanted["scopes"] = c.StringSlice("scope")
			}
			if file := c.String("issuer-ca"); file != "" {
				ca, err := os.ReadFile(file)
				if err != nil {
					return fmt.Errorf("--issuer-ca: %w", err)
				}
				wanted["ca"] = string(ca)
			}
			return changeIssuer(system, c, "admin/oidc", wanted)
		},
	}
}

func oidcMapCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "map",
		Usage:     "Set what a group of people may do",
		ArgsUsage: "GROUP",
		Description: `The limits are those of 'pinion keys create', and count for each person, whatever key they come with. Of several groups, a person has
what one of them gives if that is all that the others give; the clusters, or the teams, of all of them if they differ in nothing else; and
otherwise chooses with 'pinion login --group'.

Examples:
   pinion oidc map --role submit --cluster lab --max-gpus 8 researchers
   pinion oidc map --role read everybody`,
		Flags: rightsFlags(),
		Action: func(c *cli.Context) error {
			rights, err := keyRights(c)
			if err != nil {
				return err
			}
			return changeIssuer(system, c, "admin/oidc/groups", groupDocument{Group: c.Args().First(), Role: rights.Role, Cluster: rights.Cluster, KeyLimits: rights.KeyLimits})
		},
	}
}

func oidcUnmapCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "unmap",
		Usage:     "Remove the rights of a group, for later logins",
		ArgsUsage: "GROUP",
		Description: `Examples:
   pinion oidc unmap researchers
   pinion oidc unmap -o json researchers`,
		Action: func(c *cli.Context) error {
			return changeIssuer(system, c, "admin/oidc/groups/remove", map[string]string{"group": c.Args().First()})
		},
	}
}

func oidcShowCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "show",
		Usage: "Show the issuer and what its groups may do",
		Description: `Examples:
   pinion oidc show
   pinion oidc show -o json`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			var known issuerDocument
			if err := inv.Client.Get(c.Context, "/v1/admin/oidc", nil, &known); err != nil {
				return err
			}
			return printIssuer(inv, known)
		},
	}
}

func oidcRemoveCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "rm",
		Usage: "Remove the issuer: nobody can log in",
		Description: `The keys of earlier logins live until they expire; 'pinion keys rm' ends them.

Examples:
   pinion oidc rm
   pinion oidc rm --host gpu1.example.com:7400`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return inv.Client.Call(c.Context, "admin/oidc/remove", struct{}{}, nil)
		},
	}
}

// changeIssuer sends a change, and prints what there is now.
func changeIssuer(system invocation.System, c *cli.Context, operation string, change any) error {
	inv, err := system.Invoke(c)
	if err != nil {
		return err
	}
	var changed issuerDocument
	if err := inv.Client.Call(c.Context, operation, change, &changed); err != nil {
		return err
	}
	return printIssuer(inv, changed)
}

func printIssuer(inv *invocation.Invocation, known issuerDocument) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(known)
	}
	inv.Notef("issuer %s, client %s, user claim %s, groups claim %s, keys live %s", known.Issuer, known.ClientID, known.UserClaim, known.GroupsClaim, known.Lifetime)
	t := &table.Table{Header: []string{"GROUP", "ROLE", "CLUSTER", "TEAM", "EACH PERSON AT MOST"}, Optional: []string{"TEAM"},
		Empty: "no groups: nobody can log in; `pinion oidc map` names one"}
	for _, g := range known.Groups {
		t.Add(g.Group, g.Role, cmp.Or(g.Cluster, "all"), strings.Join(g.Teams, ","), personLimits(g.KeyLimits))
	}
	return inv.PrintTable(t)
}

// keyRights are the rights of a key that the flags ask for.
func keyRights(c *cli.Context) (client.NewKey, error) {
	role := c.String("role")
	if role == "" {
		return client.NewKey{}, exit.Usagef("--role is required: one of %s", strings.Join(keyRoles, ", "))
	}
	if !slices.Contains(keyRoles, role) {
		return client.NewKey{}, exit.Usagef("--role %q is not one of %s", role, strings.Join(keyRoles, ", "))
	}
	limits, err := keyLimits(c)
	return client.NewKey{Role: role, Cluster: c.String("cluster"), KeyLimits: limits}, err
}
