package containerd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"golang.org/x/sys/unix"

	"pinion/node/containerd/cgroup"
	"pinion/raftfsm/spec"
)

// namespaceTask is the pidMode and the ipcMode with which the containers of a task share a namespace.
const namespaceTask = "task"

// sharesNamespaces reports whether the task needs a pause container.
func sharesNamespaces(d *spec.TaskDefinition) bool {
	return d.PIDMode == namespaceTask || d.IPCMode == namespaceTask
}

// pauseContainers keep the namespaces that the containers of a task share, while these come and go: one for each task, as the Amazon ECS
// agent has it. Its only process, pinion-entrypoint -pause, is the first of the shared process ids, and reaps what has lost its parent. It
// is made for the task's first container and goes with the last. List does not show it.
type pauseContainers struct {
	runtime *Runtime
	dir     string // for each task a directory with /dev/shm of the containers that share their IPC
	seed    maphash.Seed
	locks   [16]sync.Mutex // see lock
}

func newPauseContainers(r *Runtime) *pauseContainers {
	return &pauseContainers{runtime: r, dir: filepath.Join(r.config.Dir, "pause"), seed: maphash.MakeSeed()}
}

// pauseID is the container id: the part behind the task's is no container's name, because it has a dot.
func pauseID(taskID string) string { return taskID + ".pause.container" }

// lock is held while the task's pause container is made or removed.
func (p *pauseContainers) lock(taskID string) *sync.Mutex {
	return &p.locks[maphash.String(p.seed, taskID)%uint64(len(p.locks))]
}

func (p *pauseContainers) sharedMemory(taskID string) string {
	return filepath.Join(p.dir, filepath.Base(taskID), "shm")
}

// ensure returns the process that holds the task's namespaces, and makes it where it is missing. The caller's start is registered, so
// nobody removes it meanwhile.
func (p *pauseContainers) ensure(ctx context.Context, t *spec.Task, d *spec.TaskDefinition) (pid int, err error) {
	lock := p.lock(t.ID)
	lock.Lock()
	defer lock.Unlock()
	if err := os.MkdirAll(p.sharedMemory(t.ID), 0o700); err != nil { // it tells removeUnused that there is one
		return 0, fmt.Errorf("pause container: %w", err)
	}
	if d.IPCMode == namespaceTask {
		if err := mountSharedMemory(p.sharedMemory(t.ID), sharedMemorySize(d)); err != nil {
			return 0, err
		}
	}
	if pid, err = p.find(ctx, t.ID); pid != 0 || err != nil {
		return pid, err
	}
	group := filepath.Join(cgroup.TaskPath(t.ID), "pause.container")
	if err := p.runtime.purge(ctx, pauseID(t.ID), group); err != nil { // what a crash, or its own end, has left
		return 0, err
	}
	if err := p.runtime.cgroups.CreateTask(cgroup.TaskPath(t.ID), cgroup.TaskLimits(d)); err != nil {
		return 0, err
	}
	return p.start(ctx, t.ID, group)
}

// find returns the process of the task's pause container; 0 when it does not run.
func (p *pauseContainers) find(ctx context.Context, taskID string) (pid int, err error) {
	got, err := p.runtime.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: pauseID(taskID)})
	if err = errgrpc.ToNative(err); errdefs.IsNotFound(err) {
		return 0, nil
	}
	if err != nil || got.Process.Status != task.Status_RUNNING {
		return 0, err
	}
	return int(got.Process.Pid), nil
}

func (p *pauseContainers) start(ctx context.Context, taskID, group string) (pid int, err error) {
	record := containers.Container{ID: pauseID(taskID), Labels: map[string]string{labelPause: taskID, labelCgroup: group}}
	built, err := p.spec(ctx, &record, group)
	if err != nil {
		return 0, err
	}
	if record.Spec, err = typeurl.MarshalAny(built); err != nil {
		return 0, err
	}
	if record.Runtime, err = p.runtime.config.runcOptions(0); err != nil {
		return 0, err
	}
	client := p.runtime.client
	if _, err := client.ContainerService().Create(ctx, record); err != nil {
		return 0, err
	}
	if err := (orphanedShims{&p.runtime.config}).end(record.ID); err != nil {
		return 0, err
	}
	request := &tasks.CreateTaskRequest{ContainerID: record.ID, Options: typeurl.MarshalProto(record.Runtime.Options), RuntimePath: p.runtime.config.Shim}
	if _, err := client.TaskService().Create(ctx, request); err != nil {
		return 0, shortenError(err)
	}
	started, err := client.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: record.ID})
	if err != nil {
		return 0, shortenError(err)
	}
	return int(started.Pid), nil
}

// removeUnused removes the task's pause container when the task has no container left, and no other start in progress than the
// caller's own.
func (p *pauseContainers) removeUnused(ctx context.Context, taskID string, own int) error {
	if _, err := os.Stat(filepath.Join(p.dir, filepath.Base(taskID))); errors.Is(err, fs.ErrNotExist) {
		return nil // most tasks share nothing, and are not asked for
	}
	lock := p.lock(taskID)
	lock.Lock()
	defer lock.Unlock()
	idle := false
	if err := p.runtime.starts.ifIdle(taskID, own, func() error { idle = true; return nil }); err != nil || !idle {
		return err
	}
	left, err := p.runtime.client.ContainerService().List(ctx, "labels."+quoted(labelTask)+"=="+quoted(taskID))
	if err != nil || len(left) > 0 {
		return err
	}
	return p.remove(ctx, taskID)
}

func (p *pauseContainers) remove(ctx context.Context, taskID string) error {
	if err := p.runtime.purge(ctx, pauseID(taskID), filepath.Join(cgroup.TaskPath(taskID), "pause.container")); err != nil {
		return fmt.Errorf("remove the pause container of task %s: %w", taskID, err)
	}
	if err := unmountAll(p.sharedMemory(taskID)); err != nil {
		return err
	}
	return removeMountPoints(filepath.Join(p.dir, filepath.Base(taskID)))
}

// sweep removes the pause containers of tasks that have no container, which a crash has left.
func (p *pauseContainers) sweep(ctx context.Context, records []containers.Container) error {
	used := map[string]bool{}
	for _, record := range records {
		used[record.Labels[labelTask]] = true
	}
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !used[entry.Name()] {
			err = errors.Join(err, p.remove(ctx, entry.Name()), p.runtime.cgroups.Remove(cgroup.TaskPath(entry.Name())))
		}
	}
	return err
}

// defaultSharedMemory is Docker's size of /dev/shm, in MiB.
const defaultSharedMemory = 64

// sharedMemorySize is the size in MiB of the /dev/shm that the containers of the task share: the largest that one of them asks for.
func sharedMemorySize(d *spec.TaskDefinition) int64 {
	size := int64(0)
	for i := range d.Containers {
		if parameters := d.Containers[i].LinuxParameters; parameters != nil {
			size = max(size, parameters.SharedMemorySize)
		}
	}
	if size == 0 {
		return defaultSharedMemory
	}
	return size
}

// mountSharedMemory mounts a file system in memory, once. A container cannot be given that of another, which is in a mount namespace of its
// own.
func mountSharedMemory(path string, sizeMiB int64) error {
	var own, parent unix.Stat_t
	if err := errors.Join(unix.Stat(path, &own), unix.Stat(filepath.Dir(path), &parent)); err != nil {
		return fmt.Errorf("shared memory of the task: %w", err)
	}
	if own.Dev != parent.Dev {
		return nil // it is mounted
	}
	if err := unix.Mount("shm", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, fmt.Sprintf("mode=1777,size=%dm", sizeMiB)); err != nil {
		return fmt.Errorf("shared memory of the task: mount at %s: %w", path, err)
	}
	return nil
}
