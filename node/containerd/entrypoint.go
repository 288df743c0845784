package containerd

import (
	"context"
	"slices"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
)

// entrypointPath is where a container has pinion-entrypoint that begins with it.
const entrypointPath = "/run/pinion/entrypoint"

// Arguments of pinion-entrypoint.
const (
	argumentInit    = "-init"
	argumentSecrets = "-secrets"
	argumentPause   = "-pause"
	argumentsEnd    = "--"
)

// entrypoint has pinion-entrypoint before the command of a container that has secrets in its environment, or wants an init.
func (b *specBuilder) entrypoint(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
	arguments := []string{entrypointPath}
	if p := b.spec.Def.LinuxParameters; p != nil && isTrue(p.InitProcessEnabled) {
		arguments = append(arguments, argumentInit)
	}
	if len(b.spec.Secrets) > 0 {
		if err := b.mountSecrets(s); err != nil {
			return err
		}
		if b.spec.SecretFiles == "" {
			arguments = append(arguments, argumentSecrets, secretsPath)
		}
	}
	if len(arguments) == 1 {
		return nil
	}
	s.Process.Args = slices.Concat(arguments, []string{argumentsEnd}, s.Process.Args)
	return b.bind(s, b.entrypointFile, entrypointPath, true)
}

// withSecrets is a further command in a container whose first process was given these arguments.
func withSecrets(first, command []string) []string {
	end := slices.Index(first, argumentsEnd)
	if len(first) == 0 || first[0] != entrypointPath || end < 0 || !slices.Contains(first[:end], argumentSecrets) {
		return command
	}
	return slices.Concat([]string{entrypointPath, argumentSecrets, secretsPath, argumentsEnd}, command)
}
