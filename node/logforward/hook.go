package logforward

import (
	"context"
	"sync"

	"pinion/node/logs"
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// Hooks are the hooks of a task: none when none of its containers has a log driver that sends lines elsewhere.
func (f *Forwarders) Hooks(of spec.Assignment) []task.Hook {
	for i := range of.Definition.Containers {
		if sends(&of.Definition.Containers[i]) {
			return []task.Hook{&hook{all: f, taskID: of.Task.ID, cluster: of.Task.Cluster, secrets: map[string]map[string]string{}}}
		}
	}
	return nil
}

// sends reports whether the lines of a container go on: to a destination, or to the log router of its task.
func sends(def *spec.ContainerDefinition) bool {
	return def.LogConfiguration.Forwards() || def.LogConfiguration.Routed()
}

// hook has the lines of the containers of a task sent on.
type hook struct {
	all             *Forwarders
	taskID, cluster string

	mu      sync.Mutex
	secrets map[string]map[string]string // options of the containers that are about to start, by the names of both
}

var (
	_ task.PrestartHook = (*hook)(nil)
	_ task.SpecHook     = (*hook)(nil)
	_ task.ReattachHook = (*hook)(nil)
	_ task.PrestopHook  = (*hook)(nil)
	_ task.PoststopHook = (*hook)(nil)
)

func (*hook) Name() string { return "log forwarding" }

// BuildSpec begins to forward the log of a container that is about to start.
func (h *hook) BuildSpec(s *task.Start) error {
	if err := h.begin(s.Container, h.taken(s.Container.Def.Name)); err != nil {
		return &task.StartError{Kind: task.KindCannotStart, Container: s.Container, Err: err}
	}
	return nil
}

// Reattach goes on with the log of a container that runs.
func (h *hook) Reattach(_ context.Context, c *task.Container) {
	if err := h.begin(c, nil); err != nil {
		h.all.config.Log.Warn("the log of a container is not sent on", "task", h.taskID, "container", c.Def.Name, "error", err)
	}
}

// Poststop ends the logs of the task: they are sent to their ends.
func (h *hook) Poststop(context.Context) error {
	h.all.markEnded(h.taskID)
	return nil
}

// begin keeps the destination of the container's lines on the disk, so that they are sent after an end of the agent or the container, and starts to forward.
func (h *hook) begin(c *task.Container, secrets map[string]string) error {
	if !sends(c.Def) {
		return nil
	}
	_, err := h.all.begin(logs.ForwardedLogOf(h.taskID, c.Def.Name), forwardRecordOf(c, h.all.config.Region), secrets, true)
	return err
}
