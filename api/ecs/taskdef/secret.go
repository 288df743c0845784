package taskdef

import (
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// maxSecrets bounds the secrets of a container.
const maxSecrets = 100

// checkSecrets holds the rules for the secrets of a container and of its registry, and for where it has them. Whether the pool keeps them is seen when a task starts: they
// may come later, and which they are depends on the cluster of the task.
func checkSecrets(c container) error {
	directory, asFiles := c.DockerLabels[label.SecretFiles]
	switch {
	case asFiles && (!validPath(directory) || !label.ValidSecretFiles(directory)):
		return c.errorf("dockerLabels", "dockerLabels: %s must be the absolute path of a directory for the secrets alone, such as /run/secrets, not %.300q.", label.SecretFiles, directory)
	case asFiles && len(c.Secrets) == 0:
		return c.errorf("dockerLabels", "dockerLabels: %s is set, and the container has no secrets.", label.SecretFiles)
	case len(c.Secrets) > maxSecrets:
		return c.errorf("secrets", "secrets: a container can have %d, not %d.", maxSecrets, len(c.Secrets))
	}
	if login := c.RepositoryCredentials; login != nil {
		if _, err := valuefrom.ParseRegistry(login.CredentialsParameter); err != nil {
			return c.errorf("repositoryCredentials.credentialsParameter", "repositoryCredentials: %v.", err)
		}
	}
	for i, s := range c.Secrets {
		path := field.Index("secrets", i)
		if asFiles && (strings.Contains(s.Name, "/") || strings.Trim(s.Name, ".") == "") {
			return c.errorf(field.Join(path, "name"), "the secret %.300q cannot be a file of that name.", s.Name)
		}
		if wrong := badVariable([]spec.KeyValue{{Name: s.Name}}); wrong != "" {
			return c.errorf(field.Join(path, "name"), "secrets: %s.", wrong)
		}
		if slices.ContainsFunc(c.Secrets[:i], func(other valuefrom.Secret) bool { return other.Name == s.Name }) {
			return c.errorf(field.Join(path, "name"), "The secret name must be unique: %s is there twice.", s.Name)
		}
		if slices.ContainsFunc(c.Environment, func(v spec.KeyValue) bool { return v.Name == s.Name }) {
			return c.errorf(field.Join(path, "name"), "The secret name must be unique and not shared with any new or existing environment variables set on the container, such as '%s'.", s.Name)
		}
		if _, err := valuefrom.Parse(s.ValueFrom); err != nil {
			return c.errorf(field.Join(path, "valueFrom"), "secret %s: %v.", s.Name, err)
		}
	}
	return nil
}

// checkEnvironmentFiles refuses what can be a file of no bucket. Which hosts have a bucket is decided at placement.
func checkEnvironmentFiles(c container) error {
	if len(c.EnvironmentFiles) > envfile.MaxFiles {
		return c.errorf("environmentFiles", "environmentFiles: a container can have %d, not %d.", envfile.MaxFiles, len(c.EnvironmentFiles))
	}
	for i, f := range c.EnvironmentFiles {
		if _, _, err := f.Parse(); err != nil {
			return c.errorf(field.Join(field.Index("environmentFiles", i), "value"), "environmentFiles: %v.", err)
		}
	}
	return nil
}
