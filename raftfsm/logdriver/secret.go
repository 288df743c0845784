package logdriver

import (
	"slices"

	"pinion/raftfsm/valuefrom"
)

const optionSplunkToken = "splunk-token"

// AllowsSecret reports whether the value of an option of the driver may be a secret of the pool: of a log router each may. Every other option
// decides where a task runs, or is part of what everybody reads, so it stands in the definition.
func (d Driver) AllowsSecret(option string) bool {
	return d.Name == Firelens || d.Name == Splunk && option == optionSplunkToken
}

// has reports whether the configuration has an option, in clear or as a secret.
func (l *Configuration) has(option string) bool {
	return l.Options[option] != "" || slices.ContainsFunc(l.SecretOptions, func(s valuefrom.Secret) bool { return s.Name == option })
}

// SecretsOf are the options of a container's configuration whose values are secrets of the pool; none of no configuration.
func (l *Configuration) SecretsOf() []valuefrom.Secret {
	if l == nil {
		return nil
	}
	return l.SecretOptions
}
