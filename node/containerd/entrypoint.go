package containerd

import (
	"context"
	"fmt"
	"slices"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"

	"pinion/node/containerd/program"
)

// entrypointPath is the path of pinion-entrypoint in a container that begins with it.
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

// behindEntrypoint is the command that pinion-entrypoint is given with these arguments; nil when they do not begin with it.
func behindEntrypoint(arguments []string) (own, command []string) {
	end := slices.Index(arguments, argumentsEnd)
	if end < 0 || arguments[0] != entrypointPath {
		return nil, nil
	}
	return arguments[:end], arguments[end+1:]
}

// findProgram refuses a command that is not in the container, which has been created and not started. Of one that begins with its command that is what runc has done.
func (s *startOperation) findProgram(pid uint32) error {
	_, command := behindEntrypoint(s.process.Args)
	if len(command) == 0 {
		return nil
	}
	env := newEnvList(s.process.Env...)
	if s.spec.SecretFiles == "" {
		for _, secret := range s.spec.Secrets {
			env.set(secret.Name + "=" + secret.Value)
		}
	}
	err := program.Find(fmt.Sprintf("/proc/%d/root", pid), command[0], s.process.Cwd, env.get("PATH"))
	if err == nil {
		return nil
	}
	return newRuntimeError(err.Error(), err)
}

// withSecrets is a further command in a container whose first process was given these arguments.
func withSecrets(first, command []string) []string {
	if own, _ := behindEntrypoint(first); !slices.Contains(own, argumentSecrets) {
		return command
	}
	return slices.Concat([]string{entrypointPath, argumentSecrets, secretsPath, argumentsEnd}, command)
}
