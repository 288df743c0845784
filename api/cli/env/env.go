// Package env is `pinion env`: the environment variables with which AWS clients talk to a Pinion host.
package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Command is the command `pinion env`.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "env",
		Usage: "Print the environment for the AWS CLI and SDKs",
		Description: `Prints the endpoint, an access key, the region and the CA as exports, the host for pinion itself (PINION_DATA_DIR, PINION_HOST or
PINION_CONTEXT), and unsets variables that would interfere. After that, 'aws ecs ...', 'aws logs ...', boto3, the AWS SDKs and Terraform talk to Pinion with no further option. With --host and a key,
or after 'pinion login', it does the same for a host on another machine.

On a host the key is the host's own: an admin's while the host is a server, and one that may only look while it is an agent, which the pool may change. For
what has to go on working, make a key with 'pinion keys create' and name it with --host.

Examples:
   eval "$(pinion env)"
   eval "$(pinion env --host gpu-1:7400 --ca ca.crt --key-id AKIA... --key-secret ...)"
   eval "$(pinion env --data-dir /tmp/one)"
   pinion env --shell fish | source
   pinion env -o json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "shell", Value: "sh", Usage: "`SHELL` to print for: sh (also bash, zsh) or fish"},
		},
		Action: func(c *cli.Context) error {
			output, err := invocation.OutputFormat(c)
			if err != nil {
				return err
			}
			access, own, err := accessOf(c)
			if err != nil {
				return err
			}
			if former := os.Getenv("AWS_ACCESS_KEY_ID"); own && former != "" && former != access.KeyID {
				fmt.Fprintf(c.App.ErrWriter, "The key %s of AWS_ACCESS_KEY_ID gives way to this host's own, %s. To go on with it: pinion env --key-id %s\n", former, access.KeyID, former)
			}
			variables := append(variablesOf(access, os.Getenv), ownRoots(access.CAFile)...)
			if output == invocation.JSON {
				return invocation.PrintJSON(c.App.Writer, envDocument(variables))
			}
			text, err := ShellCommands(variables, c.String("shell"))
			if err != nil {
				return err
			}
			if own {
				text += ownKeyNote
			}
			_, err = fmt.Fprint(c.App.Writer, text)
			return err
		},
	}
}

// Access is client.json: what a client needs to reach a host. The host writes it at its first start, mode 0600.
type Access struct {
	Endpoint string `json:"endpoint"` // "https://host:port"
	KeyID    string `json:"accessKeyId"`
	Secret   string `json:"secretAccessKey"`
	Region   string `json:"region"`
	CAFile   string `json:"caFile"` // absolute path

	// Where pinion itself goes: one of them is set, and none of them is in the file.
	DataDir string `json:"-"` // of the host on this machine, absolute
	Host    string `json:"-"` // host:port of another one
	Context string `json:"-"` // whose login it is
}

// ownKeyNote is the last line of the commands: without quotes around `$(pinion env)` a shell joins the lines, and a comment ends the rest.
const ownKeyNote = "# The key is this host's own: an admin's on a server, one that may only look on an agent, and it ends with the host. One that stays: pinion keys create\n"

// accessOf returns the access from --host and its flags or from the login, or otherwise from the data directory's client.json, which has the own key
// of this host.
func accessOf(c *cli.Context) (access Access, own bool, err error) {
	to, err := invocation.Connect(c, time.Now())
	if err != nil {
		return Access{}, false, err
	}
	if to.Host == "" {
		return accessHere(c, to)
	}
	if _, err := client.New(to.Config); err != nil {
		return Access{}, false, err
	}
	ca := to.CAFile
	if ca != "" {
		if ca, err = filepath.Abs(ca); err != nil {
			return Access{}, false, fmt.Errorf("--ca %s: %w", ca, err)
		}
	}
	access = Access{Endpoint: "https://" + to.Host, KeyID: to.KeyID, Secret: to.Secret, Region: to.Region, CAFile: ca}
	if access.Context = to.Context; access.Context == "" {
		access.Host = to.Host
	}
	return access, false, nil
}

// accessHere is the access to the host on this machine: with its own key, unless one was given that is meant for Pinion.
func accessHere(c *cli.Context, to invocation.Connection) (access Access, own bool, err error) {
	dir, err := filepath.Abs(invocation.DataDir(c))
	if err != nil {
		return Access{}, false, err
	}
	if access, err = readAccess(filepath.Join(dir, "client.json")); err != nil {
		return Access{}, false, err
	}
	access.DataDir = dir
	if to.KeyID == "" || to.MayBeUnknown {
		return access, true, nil
	}
	access.KeyID, access.Secret = to.KeyID, to.Secret
	return access, false, nil
}

func readAccess(path string) (Access, error) {
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Access{}, fmt.Errorf("no host has been started in %s yet. Start one with `sudo pinion up`, or name another directory with --data-dir", filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return Access{}, fmt.Errorf("%s holds an access key and may be read by root only. Run this as root, or use --host with a copy of the CA file and an access key", path)
	case err != nil:
		return Access{}, err
	}
	var a Access
	if err := json.Unmarshal(raw, &a); err != nil {
		return Access{}, fmt.Errorf("%s is damaged: %w. Restart the host, which writes it anew", path, err)
	}
	if a.Endpoint == "" || a.KeyID == "" || a.Secret == "" || a.Region == "" {
		return Access{}, fmt.Errorf("%s is not complete. Restart the host, which writes it anew", path)
	}
	return a, nil
}

// Variable is one line of the environment: set to Value, or unset.
type Variable struct {
	Name  string
	Value string
	Unset bool
}

// clientEnvironment is every variable that a client must have set or unset. Environment variables take precedence over
// configuration files in clients, so it sets every value that a file could set.
func variablesOf(a Access, getenv func(string) string) []Variable {
	variables := []Variable{
		{Name: "AWS_ENDPOINT_URL", Value: a.Endpoint}, // of services that Pinion refuses: AWS is not asked with its key
		{Name: "AWS_ENDPOINT_URL_ECS", Value: a.Endpoint},
		{Name: "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", Value: a.Endpoint}, // for 'aws logs'
		{Name: "AWS_ENDPOINT_URL_CLOUDWATCH", Value: a.Endpoint},      // for alarms
		{Name: "AWS_ENDPOINT_URL_APPLICATION_AUTO_SCALING", Value: a.Endpoint},
		{Name: "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2", Value: a.Endpoint}, // for 'aws elbv2'
		{Name: "AWS_ENDPOINT_URL_STS", Value: a.Endpoint},                       // for 'aws sts get-caller-identity'
		{Name: "AWS_ENDPOINT_URL_SSM", Value: a.Endpoint},                       // for the client of 'aws ecs execute-command'
		{Name: "AWS_ACCESS_KEY_ID", Value: a.KeyID},
		{Name: "AWS_SECRET_ACCESS_KEY", Value: a.Secret},
		{Name: "AWS_REGION", Value: a.Region},
		{Name: "AWS_DEFAULT_REGION", Value: a.Region},
		{Name: "AWS_CA_BUNDLE", Value: a.CAFile, Unset: a.CAFile == ""},
		{Name: "AWS_PAGER", Value: ""},                                // version 2 of the CLI opens a pager otherwise
		{Name: "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", Value: "false"}, // true hides the endpoint
		{Name: "AWS_USE_FIPS_ENDPOINT", Value: "false"},               // refused together with an endpoint
		{Name: "AWS_USE_DUALSTACK_ENDPOINT", Value: "false"},          // likewise
		{Name: "AWS_PROFILE", Unset: true},                            // a profile's keys would come first
		{Name: "AWS_DEFAULT_PROFILE", Unset: true},                    // likewise
		{Name: "AWS_SESSION_TOKEN", Unset: true},                      // belongs to another key
		{Name: "AWS_SECURITY_TOKEN", Unset: true},                     // its old name
		{Name: "AWS_CREDENTIAL_EXPIRATION", Unset: true},              // makes the key look expired
	}
	for _, own := range []Variable{ // the next pinion of that shell talks to the same host
		{Name: "PINION_DATA_DIR", Value: a.DataDir}, {Name: "PINION_HOST", Value: a.Host}, {Name: "PINION_CONTEXT", Value: a.Context}, {Name: "PINION_CA"},
		{Name: "PINION_ACCESS_KEY_ID"}, {Name: "PINION_SECRET_ACCESS_KEY"}, // AWS_ACCESS_KEY_ID is the key
	} {
		own.Unset = own.Value == ""
		variables = append(variables, own)
	}
	return append(variables, noProxyVariables(a.Endpoint, getenv)...)
}

// noProxyVariables makes clients go to the endpoint directly where the environment names a proxy.
func noProxyVariables(endpoint string, getenv func(string) string) []Variable {
	proxySet := false
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		proxySet = proxySet || getenv(name) != ""
	}
	if !proxySet {
		return nil
	}
	host := endpointHost(endpoint)
	var variables []Variable
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		exempt := getenv(name)
		switch {
		case exempt == "":
			exempt = host
		case !strings.Contains(","+exempt+",", ","+host+","):
			exempt += "," + host
		}
		variables = append(variables, Variable{Name: name, Value: exempt})
	}
	return variables
}
