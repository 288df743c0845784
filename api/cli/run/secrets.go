package run

import (
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// secretFlags give a container secrets of the pool.
func secretFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "secret", Usage: "environment variable `NAME=SECRET` with the value of a secret or a parameter of the pool, by its name or its ARN; NAME alone is NAME=NAME; repeatable"},
		&cli.StringFlag{Name: "registry-secret", Usage: "pull the image with the credentials in the secret `SECRET` of the pool, {\"username\": ..., \"password\": ...}, by its name or its ARN"},
		&cli.StringFlag{Name: "secret-files", Usage: "each --secret is a file with its name in the directory `DIR` of the container, such as /run/secrets, instead of a variable"},
	}
}

// applySecrets names the secrets of the container. What they are the pool finds out when a task starts.
func applySecrets(c *cli.Context, _ *Definition, container *spec.ContainerDefinition) error {
	if name := c.String("registry-secret"); c.IsSet("registry-secret") {
		if _, err := valuefrom.ParseRegistry(name); err != nil {
			return exit.Usagef("--registry-secret: %w", err)
		}
		container.RepositoryCredentials = &valuefrom.RepositoryCredentials{CredentialsParameter: name}
	}
	dir := c.String("secret-files")
	var wrong []error
	for _, given := range c.StringSlice("secret") {
		secret, err := parseSecret(given, invocation.KeyOnLine(c))
		if err == nil {
			err = checkSecretName(secret.Name, dir != "", container)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		container.Secrets = append(container.Secrets, secret)
	}
	if c.IsSet("secret-files") {
		wrong = append(wrong, setSecretFiles(c, container, dir))
	}
	return exit.Join(wrong...)
}

func setSecretFiles(c *cli.Context, container *spec.ContainerDefinition, dir string) error {
	switch {
	case !path.IsAbs(dir) || path.Clean(dir) == "/":
		return exit.Usagef("--secret-files %q is not the absolute path of a directory in the container, such as /run/secrets", dir)
	case !c.IsSet("secret"):
		return exit.Usagef("--secret-files needs the secrets that are to be files: --secret NAME=SECRET")
	}
	if container.DockerLabels == nil {
		container.DockerLabels = map[string]string{}
	}
	container.DockerLabels[label.SecretFiles] = dir
	return nil
}

// parseSecret reads NAME=SECRET, or NAME. Beside --key-id the latter may be the secret of that key, which is told to nobody.
func parseSecret(given string, keyOnLine bool) (valuefrom.Secret, error) {
	name, from, both := strings.Cut(given, "=")
	if !both && keyOnLine {
		return valuefrom.Secret{}, exit.Usagef("--secret without a = beside --key-id: for a secret of the task write --secret NAME=SECRET, for that of the key --key-secret")
	}
	if !both {
		if from = name; strings.ContainsAny(name, "/:") {
			return valuefrom.Secret{}, exit.Usagef("--secret %s: the variable needs a name of its own: --secret NAME=%s", given, given)
		}
	}
	if name == "" || from == "" {
		return valuefrom.Secret{}, exit.Usagef("--secret %q is not NAME=SECRET, such as HF_TOKEN=hf-token, or NAME", given)
	}
	if _, err := valuefrom.Parse(from); err != nil {
		return valuefrom.Secret{}, exit.Usagef("--secret %s: %w", name, err)
	}
	return valuefrom.Secret{Name: name, ValueFrom: from}, nil
}

// checkSecretName refuses a name that another secret has, one of a variable, and in a directory one that no file can have.
func checkSecretName(name string, file bool, container *spec.ContainerDefinition) error {
	switch {
	case slices.ContainsFunc(container.Secrets, func(s valuefrom.Secret) bool { return s.Name == name }):
		return exit.Usagef("--secret %s is there twice: each needs a name of its own", name)
	case slices.ContainsFunc(container.Environment, func(v spec.KeyValue) bool { return v.Name == name }):
		return exit.Usagef("--secret %s and a variable of --env or --env-file have the same name: leave one of them out", name)
	case file && (strings.Contains(name, "/") || strings.Trim(name, ".") == ""):
		return exit.Usagef("--secret %s: no file in --secret-files can have this name", name)
	}
	return nil
}
