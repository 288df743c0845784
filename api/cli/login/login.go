// Package login is `pinion login`: an access key for a person, who logs in at the issuer of the pool.
package login

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/api/openid"
	"pinion/raftfsm/issuer"
)

// Command is the command `pinion login`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "login",
		Usage:     "Log in to a pool: with a connection string, or at your organization's login",
		ArgsUsage: "[- | HOST[:PORT]]",
		Description: `With '-' it reads a connection string, which 'pinion key create' prints, from standard input; on a terminal it asks for it. The
string has the address of a host, the fingerprint of the pool's CA and an access key: no file has to be copied. The host has to prove that it
is of that pool before it is sent anything.

Otherwise it shows a code and an address to enter it at, in any browser. Who has logged in there gets an access key with the rights of
their groups, for some hours: until then pinion needs no --host and no key, and 'pinion env' sets up the AWS CLI. A next login takes its
place. --context NAME keeps logins to several pools apart; the last one is current, see 'pinion context'. The key is in
pinion/login.json in your directory for configuration, which only you may read.

--print writes the key in the form of credential_process of the AWS CLI and SDKs, and asks for nothing: log in before.

Examples:
   pinion login -
   ssh root@gpu-1 pinion key create --role submit -o json | jq -r .connection | pinion login - --context lab
   pinion login --host gpu1.example.com:7400 --ca pinion-ca.pem
   pinion login --group vision
   pinion login --print`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "group", Usage: "only the rights of your group `NAME`; may be repeated", DefaultText: "all"},
			&cli.BoolFlag{Name: "print", Usage: "print the key of the last login for credential_process"},
		},
		Action: func(c *cli.Context) error {
			context, err := contextOf(c)
			if err != nil {
				return err
			}
			if word := c.Args().First(); word == "-" || strings.HasPrefix(word, client.ConnectionScheme) {
				return logInWith(c, context, word)
			}
			last, err := invocation.ReadLogin(context)
			if c.Bool("print") {
				if err != nil {
					return err
				}
				return printCredentials(c.App.Writer, last, system.Clock())
			}
			if err != nil {
				last = nil // this login takes its place
			}
			return logIn(c, context, last)
		},
	}
}

// contextOf is the context of the login: that of --context, or the current one.
func contextOf(c *cli.Context) (string, error) {
	if name := invocation.GlobalFlag(c, "context"); name != "" {
		return name, nil
	}
	return invocation.CurrentContext()
}

// logIn has the person log in, and keeps the key.
func logIn(c *cli.Context, context string, last *invocation.Login) error {
	config := client.Config{Host: cmp.Or(c.Args().First(), invocation.GlobalFlag(c, "host")), CAFile: invocation.GlobalFlag(c, "ca")}
	if config.Host != "" {
		var err error
		if config.Host, err = client.Address(config.Host); err != nil {
			return exit.Usagef("%w", err)
		}
	}
	if last != nil && (config.Host == "" || config.Host == last.Host) {
		config.Host, config.CAFile = last.Host, cmp.Or(config.CAFile, last.CAFile)
	}
	if config.Host == "" {
		return exit.Usagef("--host HOST:PORT is required for the first login: any host of the pool")
	}
	host, err := client.NewAnonymous(config)
	if err != nil {
		return err
	}
	at, err := host.LoginIssuer(c.Context)
	if err != nil {
		return err
	}
	from := issuer.Issuer{URL: at.Issuer, ClientID: at.ClientID, Scopes: at.Scopes, CA: []byte(at.CA)}
	token, err := openid.LogIn(c.Context, &from, func(p openid.Prompt) { showPrompt(c.App.ErrWriter, p) })
	if err != nil {
		return err
	}
	key, err := host.Login(c.Context, token, c.StringSlice("group"))
	if err != nil {
		return err
	}
	login := invocation.Login{Host: config.Host, Person: key.Login.Person, KeyID: key.ID, Secret: key.Secret, Expires: key.Login.ExpiresAt}
	var ca []byte
	if config.CAFile != "" {
		if ca, err = os.ReadFile(config.CAFile); err != nil {
			return fmt.Errorf("CA file: %w", err)
		}
	}
	if err := login.Save(context, ca); err != nil {
		return fmt.Errorf("you are logged in, and the key cannot be kept: %w", err)
	}
	fmt.Fprintf(c.App.Writer, "Logged in as %s with the role %s in %s by %s, until %s\n", key.Login.Person, key.Role, clusters(key.Cluster), groups(key.Login.Groups), key.Login.ExpiresAt.Local().Format(time.DateTime))
	return nil
}

func clusters(named string) string {
	if named == "" {
		return "all clusters"
	}
	return "cluster " + named
}

func groups(names []string) string { return "group " + strings.Join(names, ", ") }

// showPrompt goes beside the answer, where a person sees it.
func showPrompt(w io.Writer, p openid.Prompt) {
	fmt.Fprintf(w, "Open %s in a browser and enter the code %s\n", p.URL, p.Code)
	if p.Complete != "" {
		fmt.Fprintf(w, "or open %s\n", p.Complete)
	}
}

// printCredentials prints a login as credential_process has it.
func printCredentials(w io.Writer, login *invocation.Login, now time.Time) error {
	if login == nil {
		return fmt.Errorf("nobody is logged in here: `pinion login --host HOST:PORT` first")
	}
	if err := login.Check(now); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(struct {
		Version         int
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Expiration      time.Time `json:",omitzero"`
	}{1, login.KeyID, login.Secret, login.Expires.UTC()})
}
