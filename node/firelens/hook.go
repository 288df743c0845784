// Package firelens gives the log router of a task its configuration, the directory of its socket and the secrets of its outputs, and connects to it.
package firelens

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pinion/node/filetree"
	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/packaging/backoff"
	"pinion/raftfsm/firelens"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// Config has the dependencies that the routers of a host share.
type Config struct {
	// Region is the region in the ARNs of tasks.
	Region string
	// Secrets asks, once, for the values of options that are secrets, by their names. The error wraps valuefrom.ErrUnresolved when they cannot be had.
	Secrets func(ctx context.Context, taskID, cluster, container string, wanted []valuefrom.Secret) (map[string]string, error)
	Log     *slog.Logger
}

// Hooks are the hooks of a task: none when it has no log router.
func (c Config) Hooks(a spec.Assignment) []task.Hook {
	if a.Definition.LogRouter() == nil {
		return nil
	}
	return []task.Hook{&hook{config: c, task: a.Task, definition: a.Definition}}
}

// hook prepares the router of one task, and those whose lines it gets.
type hook struct {
	config     Config
	task       *spec.Task
	definition *spec.TaskDefinition

	mu      sync.Mutex
	secrets []runtime.Secret // of the router that is about to start
}

var (
	_ task.PrestartHook = (*hook)(nil)
	_ task.SpecHook     = (*hook)(nil)
)

func (*hook) Name() string { return "log router" }

// Prestart gets the secrets of the outputs for a router that is about to start. It goes on trying while the pool does not answer, and ends the task when
// it says that there is no such secret.
func (h *hook) Prestart(ctx context.Context, starts []*task.Start) error {
	if !slices.ContainsFunc(starts, func(s *task.Start) bool { return s.Spec.Def.FirelensConfiguration != nil }) {
		return nil
	}
	var all []runtime.Secret
	for i := range h.definition.Containers {
		c := &h.definition.Containers[i]
		wanted := c.LogConfiguration.SecretsOf()
		if !c.LogConfiguration.Routed() || len(wanted) == 0 {
			continue
		}
		values, err := h.ask(ctx, c.Name, wanted)
		if err != nil {
			return &task.StartError{Kind: task.KindResource, Err: fmt.Errorf("unable to pull secrets: %w", err)}
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			all = append(all, runtime.Secret{Name: firelens.SecretVariable(name, i), Value: values[name]})
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets = all
	return nil
}

// ask asks until the pool answers.
func (h *hook) ask(ctx context.Context, container string, wanted []valuefrom.Secret) (values map[string]string, err error) {
	err = backoff.RetryUnless(ctx, h.config.Log.With("task", h.task.ID), "get the secrets of a log router", valuefrom.ErrUnresolved, func(ctx context.Context) (err error) {
		values, err = h.config.Secrets(ctx, h.task.ID, h.task.Cluster, container, wanted)
		return err
	})
	return values, err
}

// BuildSpec gives the router its files and secrets, and the others the address at which it takes records of their own.
func (h *hook) BuildSpec(s *task.Start) error {
	def := s.Spec.Def
	if def.LogConfiguration.Routed() && s.Router != "" {
		s.SetEnv("FLUENT_HOST", s.Router)
		s.SetEnv("FLUENT_PORT", forwardPort)
	}
	if def.FirelensConfiguration == nil {
		return nil
	}
	if err := h.mount(s); err != nil {
		return &task.StartError{Kind: task.KindResource, Container: s.Container, Err: fmt.Errorf("preparing the log router: %w", err)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Spec.Secrets = append(slices.Clip(s.Spec.Secrets), h.secrets...)
	h.secrets = nil
	return nil
}

// volume is the name of the volume with the router's socket, which no volume of a definition can have.
const volume = "firelens socket"

// mount writes the configuration, and empties the directory of the socket: what an earlier run of the router has left there is no socket of this one.
func (h *hook) mount(s *task.Start) error {
	run := socketDir(s.Dir)
	file := filepath.Join(filepath.Dir(run), "conf")
	r := h.router(s.Spec.Def.FirelensConfiguration)
	err := errors.Join(filetree.Remove(context.Background(), run), os.MkdirAll(run, 0o755), os.Chmod(run, 0o777)) // a router may be of any user
	if err == nil {
		err = os.WriteFile(file, []byte(r.text()), 0o644)
	}
	if err != nil {
		return err
	}
	s.Spec.Volumes = maps.Clone(s.Spec.Volumes)
	s.Spec.Volumes[volume] = runtime.Volume{Path: run}
	s.Spec.Def.MountPoints = append(slices.Clip(s.Spec.Def.MountPoints), spec.MountPoint{SourceVolume: volume, ContainerPath: runDir})
	own := map[string]string{r.path(): file}
	maps.Copy(own, s.Spec.OwnFiles)
	s.Spec.OwnFiles = own
	return nil
}

// router has the parts of the configuration of the task's router.
func (h *hook) router(config *firelens.Configuration) *router {
	r := &router{config: config}
	switch h.definition.NetworkMode {
	case "", runtime.NetworkBridge:
		r.listen = "0.0.0.0"
	case runtime.NetworkAwsvpc:
		r.listen = loopback
	}
	if config.Metadata() {
		arn := "arn:aws:ecs:" + h.config.Region + ":" + spec.AccountID + ":task/" + h.task.Cluster + "/" + h.task.ID
		r.metadata = [][2]string{{"ecs_cluster", h.task.Cluster}, {"ecs_task_arn", arn}, {"ecs_task_definition", h.task.Definition}}
	}
	for i := range h.definition.Containers {
		c := &h.definition.Containers[i]
		if !c.LogConfiguration.Routed() {
			continue
		}
		o := output{container: c.Name, options: map[string]string{}}
		maps.Copy(o.options, c.LogConfiguration.Options)
		for _, secret := range c.LogConfiguration.SecretOptions {
			o.options[secret.Name] = reference(config.Type, firelens.SecretVariable(secret.Name, i))
		}
		r.outputs = append(r.outputs, o)
	}
	return r
}

// reference is the reference to a variable of the environment in a router's configuration.
func reference(kind, variable string) string {
	if kind == firelens.Fluentd {
		return `"#{ENV['` + variable + `']}"`
	}
	return "${" + variable + "}"
}

// Tag is the tag of the lines of a container.
func Tag(container, taskID string) string { return container + "-firelens-" + taskID }
