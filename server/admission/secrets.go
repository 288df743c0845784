package admission

import (
	"context"
	"errors"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// Secrets seals and opens the values of the pool's parameters and secrets, and gives tasks theirs.
type Secrets struct {
	Keys *AccessKeys
	// Given is told what a host got for a task; nil: nobody is. It must not wait.
	Given func(Given)
}

// Given is what a host got for a task.
type Given struct {
	HostID, TaskID, Cluster string
	Secrets                 []string // what their references name, without values
}

// Seal seals the value of a version of a secret, into Sealed and Seal of the version.
func (s Secrets) Seal(_ context.Context, view *raftfsm.View, of *secret.Secret, v *secret.Version, value string) (err error) {
	name := ""
	if sealing := view.SealingKey(); sealing != nil {
		name = sealing.Name
	}
	v.Sealed, v.Seal, err = s.Keys.Keyring.Seal(of.SealID(v), value, name)
	return err
}

// Open is the value of a version of a secret.
func (s Secrets) Open(ctx context.Context, of *secret.Secret, v *secret.Version) (string, error) {
	value, err := s.Keys.Keyring.Open(of.SealID(v), v.Sealed, v.Seal)
	if err != nil { // another server may have the key
		s.Keys.FetchKeyring(ctx)
		value, err = s.Keys.Keyring.Open(of.SealID(v), v.Sealed, v.Seal)
	}
	if err != nil {
		return "", fmt.Errorf("the value of %s %s: %w", of.Kind(), of.Name, err)
	}
	return value, nil
}

// OfTask are the values of the secrets of a task's containers that the pool keeps, for the host that the task is on: other hosts get none. Errors that
// wrap valuefrom.ErrUnresolved say which cannot be had.
func (s Secrets) OfTask(ctx context.Context, hostID, taskID string) ([]valuefrom.Value, error) {
	view, err := s.Keys.Server.View(ctx)
	if err != nil {
		return nil, err
	}
	task := view.Task(taskID)
	if task == nil || task.HostID != hostID || task.LastStatus == spec.Stopped {
		return nil, fmt.Errorf("the secrets of task %s: %w: no such task is to run on host %s", taskID, valuefrom.ErrUnresolved, hostID)
	}
	definition := view.Definition(task.Definition)
	if definition == nil {
		return nil, fmt.Errorf("the secrets of task %s: %w: its task definition %s is gone", taskID, valuefrom.ErrUnresolved, task.Definition)
	}
	var values []valuefrom.Value
	var names []string
	for i := range definition.Containers {
		container := &definition.Containers[i]
		for _, wanted := range container.Secrets {
			ref, err := valuefrom.Parse(wanted.ValueFrom)
			if err == nil && ref.Store == valuefrom.Command {
				continue // the host's own program has it
			}
			value := ""
			if err == nil {
				value, err = s.resolve(ctx, view, ref, task.Cluster)
			}
			if err != nil {
				return nil, fmt.Errorf("secret %s of container %s: %w", wanted.Name, container.Name, err)
			}
			values = append(values, valuefrom.Value{Container: container.Name, Name: wanted.Name, Value: value})
			names = append(names, ref.String())
		}
	}
	if s.Given != nil && len(names) > 0 {
		s.Given(Given{HostID: hostID, TaskID: taskID, Cluster: task.Cluster, Secrets: names})
	}
	return values, nil
}

// resolve is the value of a reference. A sealing key that is missing here may come: everything else stays as it is.
func (s Secrets) resolve(ctx context.Context, view *raftfsm.View, ref valuefrom.Reference, cluster string) (value string, err error) {
	found, version, err := secret.Resolve(view, ref, cluster)
	if err == nil {
		if value, err = s.Open(ctx, found, version); err != nil {
			return "", err
		}
		value, err = ref.Extract(value)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", valuefrom.ErrUnresolved, err)
	}
	return value, nil
}

// reseal seals a batch of secrets anew. One that cannot be read stays as it is: an administrator may bring its key back. The error names one of them
// when there are no others.
func (s Secrets) reseal(ctx context.Context, view *raftfsm.View, all []*secret.Secret) (err error) {
	done := 0
	for _, known := range all {
		again, unreadable := s.sealedAnew(ctx, view, known)
		if unreadable != nil {
			err = unreadable
			continue
		}
		_, refused := s.Keys.Server.Propose(ctx, raftfsm.Wrap(secret.Replace{Secret: *again}))
		if refused != nil && !errors.Is(refused, secret.ErrChanged) && !errors.Is(refused, spec.ErrNotFound) { // the next round sees those
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

func (s Secrets) sealedAnew(ctx context.Context, view *raftfsm.View, known *secret.Secret) (*secret.Secret, error) {
	again := known.Clone()
	for i := range again.Versions {
		v := &again.Versions[i]
		value, err := s.Open(ctx, known, v)
		if err == nil {
			err = s.Seal(ctx, view, known, v, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return again, nil
}
