package compose

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// secretFiles is the directory in which the containers of Compose files have their secrets.
const secretFiles = "/run/secrets"

// unsupportedSecrets refuses secrets that the pool does not keep.
func unsupportedSecrets(p *types.Project) error {
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		s := p.Secrets[name]
		if !bool(s.External) {
			put := s.Name
			if put == p.Name+"_"+name { // the name that Compose gives to one that has none
				put = name
			}
			return fmt.Errorf("the secret %s has its value in a file or a variable here: put that into the pool, `pinion secret put %s --file FILE`, and write external: true in its place", name, put)
		}
		if s.Driver != "" || len(s.DriverOpts) > 0 || s.TemplateDriver != "" {
			return fmt.Errorf("the secret %s has a driver: it is one of the pool, so leave the driver out", name)
		}
		if _, err := valuefrom.Parse(cmp.Or(s.Name, name)); err != nil {
			return fmt.Errorf("the secret %s: name: %w", name, err)
		}
	}
	return nil
}

// setSecrets gives the container the secrets of the pool that the service names, as files.
func setSecrets(all types.Secrets, container *spec.ContainerDefinition, s types.ServiceConfig) error {
	if len(s.Secrets) == 0 {
		return nil
	}
	for _, given := range s.Secrets {
		name, err := secretName(given)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(container.Secrets, func(other valuefrom.Secret) bool { return other.Name == name }) {
			return fmt.Errorf("secrets: two of them are the file %s/%s: give one another target", secretFiles, name)
		}
		from := cmp.Or(all[given.Source].Name, given.Source)
		container.Secrets = append(container.Secrets, valuefrom.Secret{Name: name, ValueFrom: from})
	}
	labels := maps.Clone(container.DockerLabels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[label.SecretFiles] = secretFiles
	container.DockerLabels = labels
	return nil
}

// secretName is the name of the file of a secret.
func secretName(given types.ServiceSecretConfig) (string, error) {
	file := cmp.Or(given.Target, given.Source)
	if !path.IsAbs(file) {
		file = path.Join(secretFiles, file)
	}
	if path.Dir(file) != secretFiles || strings.Trim(path.Base(file), ".") == "" {
		return "", fmt.Errorf("secrets: %s has the target %s: secrets are files in %s, such as %s/%s", given.Source, given.Target, secretFiles, secretFiles, path.Base(file))
	}
	rest := given
	rest.Source, rest.Target = "", ""
	return path.Base(file), leftOver("secrets.", rest)
}
