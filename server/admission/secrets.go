package admission

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
	"pinion/server/seal"
)

// SecretSealer seals and opens the values of the pool's parameters and secrets, and gives tasks theirs. Its methods fail with
// spec.ErrNotLeader where Keys do.
type SecretSealer struct {
	Keys func() (*AccessKeys, error) // of the server here
	// OnRetrieval is told what a host got for a task; nil: nobody is. It must not wait.
	OnRetrieval func(Retrieval)
}

// Retrieval names the secrets that a host got for a task.
type Retrieval struct {
	HostID, TaskID, Cluster string
	Secrets                 []string // what their references name, without values
}

// Seal seals the value of a version of a secret, into Sealed and Seal of the version. spec.ErrUnavailable while this server does not have the key.
func (s SecretSealer) Seal(ctx context.Context, of *secret.Secret, v *secret.Version, value string) (err error) {
	keys, err := s.Keys()
	if err == nil {
		v.Sealed, v.Seal, err = keys.sealSecret(ctx, of.SealID(v), value)
	}
	return err
}

// Open is the value of a version of a secret.
func (s SecretSealer) Open(ctx context.Context, of *secret.Secret, v *secret.Version) (string, error) {
	keys, err := s.Keys()
	if err != nil {
		return "", err
	}
	return keys.openSecret(ctx, of, v)
}

func (a *AccessKeys) openSecret(ctx context.Context, of *secret.Secret, v *secret.Version) (string, error) {
	value, err := a.Keyring.Open(of.SealID(v), v.Sealed, v.Seal)
	if err != nil { // another server may have the key
		a.FetchKeyring(ctx)
		value, err = a.Keyring.Open(of.SealID(v), v.Sealed, v.Seal)
	}
	if err != nil {
		return "", fmt.Errorf("the value of %s %s: %w", of.Kind(), of.Name, err)
	}
	return value, nil
}

// maxTaskBytes bounds the values of the secrets of a task, in bytes.
const maxTaskBytes = 1 << 20

// ErrForeignTask refuses a host the secrets of a task that is not its own.
var ErrForeignTask = errors.New("the task is on another host")

// OfTask are the values of the secrets of containers of a task that the pool keeps, for the host that the task is on: other hosts get none, which is
// ErrForeignTask. Errors that wrap valuefrom.ErrUnresolved say which cannot be had.
func (s SecretSealer) OfTask(ctx context.Context, hostID, taskID string, containers []string) ([]valuefrom.Value, error) {
	return s.ofTask(ctx, hostID, taskID, containers, (*reader).container, false)
}

// LogOptions are OfTask for the options of log drivers. A host has them of a task that has stopped, too, while the pool remembers it: the end of
// its log may be left to send.
func (s SecretSealer) LogOptions(ctx context.Context, hostID, taskID string, containers []string) ([]valuefrom.Value, error) {
	return s.ofTask(ctx, hostID, taskID, containers, (*reader).logOptions, true)
}

// RegistryLogins are OfTask for the credentials of the registries that containers have their images from: values without names.
func (s SecretSealer) RegistryLogins(ctx context.Context, hostID, taskID string, containers []string) ([]valuefrom.Value, error) {
	return s.ofTask(ctx, hostID, taskID, containers, (*reader).registryLogin, false)
}

func (s SecretSealer) ofTask(ctx context.Context, hostID, taskID string, containers []string, of func(*reader, context.Context, *spec.ContainerDefinition) error, ended bool) ([]valuefrom.Value, error) {
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	view, err := keys.Server.View(ctx)
	if err != nil {
		return nil, err
	}
	task := view.Task(taskID)
	over := task != nil && (task.LastStatus == spec.Stopped || task.DesiredStatus == spec.Stopped)
	switch {
	case task != nil && task.HostID != hostID:
		return nil, fmt.Errorf("the secrets of task %s for host %s: %w: %w", taskID, hostID, valuefrom.ErrUnresolved, ErrForeignTask)
	case task == nil || !ended && over:
		return nil, fmt.Errorf("the secrets of task %s: %w: the task is to stop, or has stopped", taskID, valuefrom.ErrUnresolved)
	}
	definition := view.Definition(task.Definition)
	if definition == nil {
		return nil, fmt.Errorf("the secrets of task %s: %w: its task definition %s is gone", taskID, valuefrom.ErrUnresolved, task.Definition)
	}
	read := reader{keys: keys, view: view, cluster: task.Cluster, team: task.SchedulingOptions().Team, opened: map[string]string{}, over: over}
	for i := range definition.Containers {
		if container := &definition.Containers[i]; slices.Contains(containers, container.Name) {
			if err := of(&read, ctx, container); err != nil {
				return nil, err
			}
		}
	}
	if s.OnRetrieval != nil && len(read.names) > 0 {
		s.OnRetrieval(Retrieval{HostID: hostID, TaskID: taskID, Cluster: task.Cluster, Secrets: read.names})
	}
	return read.values, nil
}

// reader reads the secrets of a task, each version once.
type reader struct {
	keys    *AccessKeys
	view    *raftfsm.View
	cluster string
	team    string            // of the task, as the pool has recorded it; empty: none
	opened  map[string]string // values by SealID
	bytes   int
	values  []valuefrom.Value
	names   []string // of what was read
	over    bool     // the task is to stop, or has stopped
}

func (r *reader) container(ctx context.Context, c *spec.ContainerDefinition) error {
	return r.all(ctx, c, "secret", c.Secrets)
}

// logOptions reads those of a log driver. Those for a log router are its variables, which it has from its start.
func (r *reader) logOptions(ctx context.Context, c *spec.ContainerDefinition) error {
	if r.over && c.LogConfiguration.Routed() {
		return nil
	}
	return r.all(ctx, c, "log option", c.LogConfiguration.SecretsOf())
}

// all reads secrets of a container; what names their kind in errors.
func (r *reader) all(ctx context.Context, c *spec.ContainerDefinition, what string, secrets []valuefrom.Secret) error {
	for _, wanted := range secrets {
		ref, err := valuefrom.Parse(wanted.ValueFrom)
		if err == nil && ref.Store == valuefrom.Command {
			continue // the host's own program has it
		}
		value := ""
		if err == nil {
			value, err = r.resolve(ctx, ref)
		}
		if r.bytes += len(value); err == nil && r.bytes > maxTaskBytes {
			err = fmt.Errorf("%w: the secrets of a task may have %d KiB in all", valuefrom.ErrUnresolved, maxTaskBytes>>10)
		}
		if err != nil {
			return fmt.Errorf("%s %s of container %s: %w", what, wanted.Name, c.Name, err)
		}
		r.values = append(r.values, valuefrom.Value{Container: c.Name, Name: wanted.Name, Value: []byte(value)})
		r.names = append(r.names, ref.String())
	}
	return nil
}

func (r *reader) registryLogin(ctx context.Context, c *spec.ContainerDefinition) error {
	if c.RepositoryCredentials == nil {
		return nil
	}
	ref, err := valuefrom.ParseRegistry(c.RepositoryCredentials.CredentialsParameter)
	value := ""
	if err == nil {
		value, err = r.resolve(ctx, ref)
	}
	if err != nil {
		return fmt.Errorf("repositoryCredentials of container %s: %w", c.Name, err)
	}
	r.values = append(r.values, valuefrom.Value{Container: c.Name, Value: []byte(value)})
	r.names = append(r.names, ref.String())
	return nil
}

// resolve is the value of a reference. A sealing key that is missing here may come from a server that does not answer now: everything else stays as it is.
func (r *reader) resolve(ctx context.Context, ref valuefrom.Reference) (value string, err error) {
	found, version, err := secret.Resolve(r.view, ref, r.cluster, r.team)
	if err == nil {
		id, known := found.SealID(version), false
		if value, known = r.opened[id]; !known {
			if value, err = r.keys.openSecret(ctx, found, version); errors.Is(err, seal.ErrNoKey) && !r.keys.isLost(version.Seal) {
				return "", err
			} else if err != nil {
				return "", fmt.Errorf("%w: %w: no server of the pool can open it; put its value again", valuefrom.ErrUnresolved, err)
			}
			r.opened[id] = value
		}
		if version.Binary {
			var raw []byte
			raw, err = base64.StdEncoding.DecodeString(value)
			value = string(raw)
		}
	}
	if err == nil {
		value, err = ref.Extract(value)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", valuefrom.ErrUnresolved, err)
	}
	return value, nil
}

// resealSecrets seals a batch of secrets anew. One that cannot be read stays as it is: an administrator may bring its key back. The error names one of them
// when there are no others.
func (a *AccessKeys) resealSecrets(ctx context.Context, all []*secret.Secret, name string) (err error) {
	done := 0
	for _, known := range all {
		again, unreadable := a.sealedAnew(ctx, known, name)
		if unreadable != nil {
			err = unreadable
			continue
		}
		_, refused := a.Server.Propose(ctx, raftfsm.Wrap(secret.Replace{Secret: *again}))
		if refused != nil && !errors.Is(refused, secret.ErrChanged) && !errors.Is(refused, spec.ErrNotFound) { // the next pass sees those
			return refused
		}
		if done++; done == resealBatch {
			break
		}
	}
	if done > 0 {
		return nil
	}
	return err
}

func (a *AccessKeys) sealedAnew(ctx context.Context, known *secret.Secret, name string) (*secret.Secret, error) {
	again := known.Clone()
	for i := range again.Versions {
		v := &again.Versions[i]
		value, err := a.openSecret(ctx, known, v)
		if err == nil {
			v.Sealed, v.Seal, err = a.Keyring.Seal(known.SealID(v), value, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return again, nil
}
