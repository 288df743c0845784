package filesystem

import (
	"context"
	"fmt"
	"maps"
	"os"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// Hooks are the hooks of a task: none when no volume of its definition is in a file system of this host.
func (m *Mounts) Hooks(a spec.Assignment) []task.Hook {
	h := &hook{mounts: m, task: a.Task.ID}
	for _, v := range a.Definition.Volumes {
		if v.EFS == nil {
			continue
		}
		h.volumes = append(h.volumes, v)
		if mount := m.all[v.EFS.FileSystemID]; mount != nil {
			mount.use(h.task)
		}
	}
	if len(h.volumes) == 0 {
		return nil
	}
	return []task.Hook{h}
}

// hook mounts the file systems of one task, and gives its containers the directories in them.
type hook struct {
	mounts  *Mounts
	task    string
	volumes []spec.Volume
}

var (
	_ task.PrestartHook = (*hook)(nil)
	_ task.SpecHook     = (*hook)(nil)
	_ task.PoststopHook = (*hook)(nil)
)

func (*hook) Name() string { return "file systems" }

// Prestart mounts the file systems and opens the directories once, so that what is wrong with them is the reason of the task.
func (h *hook) Prestart(ctx context.Context, _ []*task.Start) error {
	for _, v := range h.volumes {
		if err := h.prepare(ctx, v); err != nil {
			return &task.StartError{Kind: task.KindResource, Err: fmt.Errorf("volume %s: %w", v.Name, err)}
		}
	}
	return nil
}

func (h *hook) prepare(ctx context.Context, v spec.Volume) error {
	mount := h.mounts.all[v.EFS.FileSystemID]
	if mount == nil {
		return fmt.Errorf("host %s has no file system %s: start it with pinion up --file-system %s=TYPE:SOURCE", h.mounts.config.Host, v.EFS.FileSystemID, v.EFS.FileSystemID)
	}
	if err := mount.ready(ctx); err != nil {
		return err
	}
	file, err := mount.open(v.EFS.Below())
	if err != nil {
		return err
	}
	return file.Close()
}

// BuildSpec gives the container the directories. They are opened for its mounts when it is made.
func (h *hook) BuildSpec(s *task.Start) error {
	volumes := maps.Clone(s.Spec.Volumes) // other containers of the task have the same map
	for _, v := range h.volumes {
		volumes[v.Name] = runtime.Volume{Host: directory{h.mounts.all[v.EFS.FileSystemID], v.EFS.Below()}}
	}
	s.Spec.Volumes = volumes
	return nil
}

// Poststop lets go of the file systems. That one cannot be unmounted is said in the log, and does not hold up the end of the task.
func (h *hook) Poststop(ctx context.Context) error {
	for _, v := range h.volumes {
		if mount := h.mounts.all[v.EFS.FileSystemID]; mount != nil {
			mount.release(ctx, h.task)
		}
	}
	return nil
}

// directory is a directory of a file system of this host.
type directory struct {
	mount *mount
	below string
}

var _ runtime.HostVolume = directory{}

// Open opens it for a mount.
func (d directory) Open() (*os.File, error) { return d.mount.open(d.below) }
