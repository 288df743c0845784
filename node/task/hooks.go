package task

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/node/runtime"
	"pinion/packaging/backoff"
	"pinion/raftfsm/spec"
)

// Hook is one feature of a task: its images, its network, its GPUs, health checks, secrets. A hook implements one or
// more of the interfaces below. Every step may be entered again after a restart of the agent, so each call finds the
// work of an earlier one done and does the rest.
type Hook interface {
	// Name names the hook in log lines.
	Name() string
}

// PrestartHook prepares what containers need. All prestart hooks of a task run at the same time, once for the
// containers that start together and again for a container that is restarted. ctx ends when the task stops. An error
// ends the task; a *StartError chooses its reason.
type PrestartHook interface {
	Hook
	Prestart(ctx context.Context, starts []*Start) error
}

// SpecHook completes a container's specification right before the container starts, in the order of the hooks. It does
// not wait for anything. An error ends the task.
type SpecHook interface {
	Hook
	BuildSpec(s *Start) error
}

// PoststartHook runs beside a container: from its start, or from the restart of the agent that found it running, until
// ctx ends with the container.
type PoststartHook interface {
	Hook
	Poststart(ctx context.Context, c *Container, startedAt time.Time)
}

// ReattachHook learns that a container was found running after a restart of the agent.
type ReattachHook interface {
	Hook
	Reattach(ctx context.Context, c *Container)
}

// PrestopHook prepares the stop of a container that runs, when those that depend on it have ended. It takes a few seconds at most, and less when ctx ends.
type PrestopHook interface {
	Hook
	Prestop(ctx context.Context, c *Container)
}

// PoststopHook frees what the task held, after its last container has ended and before the task is reported STOPPED. It
// is retried until it returns nil: until then the task stays STOPPING.
type PoststopHook interface {
	Hook
	Poststop(ctx context.Context) error
}

// LoginHook gets the credentials of the registry of a container's image, for a container whose definition has repositoryCredentials. An
// error ends the task.
type LoginHook interface {
	Hook
	RegistryLogin(ctx context.Context, container *spec.ContainerDefinition) (runtime.RegistryLogin, error)
}

// Start is one container about to start. Hooks complete it.
type Start struct {
	Spec      runtime.ContainerSpec
	Container *Container
	Address   string // IPv4 address of the container, empty when it has none of its own
	Bindings  []spec.NetworkBinding
	Links     []spec.ExtraHost // names of the containers that it is linked to
	Router    string           // IPv4 address of the log router that gets the container's lines, empty when it is not reached by one
	Dir       string           // directory of the container's files on this host; it goes with the task
	MPSPipes  string           // directory of the pipes of MPS on this host, empty when the container has no share of a GPU
}

// SetEnv sets a variable of the container's environment, in place of one of the same name.
func (s *Start) SetEnv(name, value string) {
	entry := name + "=" + value
	for i, known := range s.Spec.Env {
		if before, _, _ := strings.Cut(known, "="); before == name {
			s.Spec.Env[i] = entry
			return
		}
	}
	s.Spec.Env = append(s.Spec.Env, entry)
}

// builtinHooks are the features that every task has. The order is that of BuildSpec.
func builtinHooks(r *Runner) []Hook {
	return []Hook{
		r.images,
		&networkHook{network: r.config.Network, task: r.task, def: r.def, containers: r.containers, log: r.log},
		&gpuHook{locks: r.config.GPULocks, sharer: r.config.Sharer, task: r.task, log: r.log, report: func() { r.queueReport() }},
		&etcFilesHook{resolver: r.config.Resolver},
		environmentHook{},
		visibleDevicesHook{},
		shareHook{sharer: r.config.Sharer, host: r.config.Host, task: r.task, log: r.log, stop: r.beginStop},
		faultHook{health: r.config.GPUHealth, policy: r.rules.GPUFaults, task: r.task, workload: r.Workload, report: r.Report, stop: r.beginStop},
		&healthHook{execer: r.config.Execer, log: r.log, report: func() { r.queueReport() }},
	}
}

// prestart runs the prestart hooks for the containers that are about to start. It is broken off when the task stops.
func (r *Runner) prestart(ctx context.Context, containers []*Container) (map[*Container]*Start, error) {
	ctx, cancel := untilClosed(ctx, r.stopping)
	defer cancel()
	starts, err := r.newStarts(containers)
	if err != nil {
		return nil, err
	}
	work, ctx := errgroup.WithContext(ctx)
	for _, hook := range r.hooks {
		if h, ok := hook.(PrestartHook); ok {
			work.Go(func() error { return h.Prestart(ctx, starts) })
		}
	}
	err = work.Wait()
	byContainer := map[*Container]*Start{}
	for _, s := range starts {
		byContainer[s.Container] = s
	}
	return byContainer, err
}

// buildSpec runs the spec hooks.
func (r *Runner) buildSpec(s *Start) error {
	for _, hook := range r.hooks {
		if h, ok := hook.(SpecHook); ok {
			if err := h.BuildSpec(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// poststop runs the poststop hooks at the same time, each until it succeeds.
func (r *Runner) poststop(ctx context.Context) {
	var all errgroup.Group
	for _, hook := range r.hooks {
		if h, ok := hook.(PoststopHook); ok {
			all.Go(func() error { return backoff.Retry(ctx, r.log, "free the task's "+h.Name(), h.Poststop) })
		}
	}
	_ = all.Wait()
}
