package logforward

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"pinion/node/task"
	"pinion/packaging/backoff"
	"pinion/raftfsm/valuefrom"
)

// secretOptions are the values of the options of one container that are secrets. They are in memory alone: after a restart of the agent they are
// asked for again.
type secretOptions struct {
	mu     sync.Mutex
	values map[string]string // nil: nobody has asked yet
}

// replaceValues replaces the values; nil leaves them.
func (s *secretOptions) replaceValues(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if values != nil {
		s.values = values
	}
}

func (s *secretOptions) get() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values
}

// options are the options of the driver, with the values of secrets.
func (f *forwarder) options(ctx context.Context) (map[string]string, error) {
	log := &f.note.Log
	if len(log.SecretOptions) == 0 {
		return log.Options, nil
	}
	values := f.secrets.get()
	if values == nil {
		var err error
		if values, err = f.all.config.Secrets(ctx, f.of.Task, f.note.Cluster, f.note.Name, log.SecretOptions); err != nil {
			return nil, err
		}
		f.secrets.replaceValues(values)
	}
	all := map[string]string{}
	maps.Copy(all, log.Options)
	maps.Copy(all, values)
	return all, nil
}

// Prestart gets the secrets of the log drivers of containers that are about to start. It goes on trying while the pool does not answer, and ends the
// task when it says that there is no such secret.
func (h *hook) Prestart(ctx context.Context, starts []*task.Start) error {
	for _, s := range starts {
		def := s.Spec.Def
		wanted := def.LogConfiguration.SecretsOf()
		if len(wanted) == 0 || !def.LogConfiguration.Forwards() {
			continue
		}
		var values map[string]string
		err := backoff.RetryUnless(ctx, h.all.config.Log.With("task", h.taskID), "get the secrets of a log driver", valuefrom.ErrUnresolved, func(ctx context.Context) (err error) {
			values, err = h.all.config.Secrets(ctx, h.taskID, h.cluster, def.Name, wanted)
			return err
		})
		if err != nil {
			return &task.StartError{Kind: task.KindResource, Err: fmt.Errorf("unable to pull secrets: %w", err)}
		}
		h.mu.Lock()
		h.secrets[def.Name] = values
		h.mu.Unlock()
	}
	return nil
}

// taken are the secrets of a container that is about to start; the hook forgets them.
func (h *hook) taken(container string) map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	values := h.secrets[container]
	delete(h.secrets, container)
	return values
}
