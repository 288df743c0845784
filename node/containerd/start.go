package containerd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	runcoptions "github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node/containerd/cgroup"
	"pinion/node/containerd/images"
	"pinion/node/runtime"
	"pinion/packaging/backoff"
	"pinion/packaging/failpoint"
)

const (
	runtimeName = "io.containerd.runc.v2"
	// labelRoot protects a snapshot from containerd's garbage collector. It replaces a lease, which would cost two writes
	// to disk for each start.
	labelRoot = "containerd.io/gc.root"
	// cleanUpTimeout bounds the rollback of a failed start, which runs also after the caller has left.
	cleanUpTimeout = time.Minute
	// startAttempts bounds the attempts of a start that loses its daemon.
	startAttempts = 5
	// earlierStartTimeout bounds the wait until containerd has taken back a start that broke off.
	earlierStartTimeout = 30 * time.Second
)

// Start creates and starts the container: snapshot, record, task, process. A step that fails rolls the earlier ones back,
// so that nothing of the container is left.
func (r *Runtime) Start(ctx context.Context, c runtime.ContainerSpec) error {
	ctx = r.inNamespace(ctx)
	if !r.starts.begin(c.ID, c.Task.ID) {
		return fmt.Errorf("%w: %s", runtime.ErrExists, c.ID)
	}
	defer r.starts.end(c.ID, c.Task.ID)
	begun, poll := time.Now(), backoff.Poll()
	for attempt := 1; ; attempt++ {
		err := r.tryStart(ctx, c)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errdefs.IsUnavailable(err) && attempt < startAttempts:
			// The daemon died during the start. The rollback left nothing, so the start is repeated on the next daemon.
			r.config.Log.Warn("containerd went away during a start; trying again", "container", c.ID, "error", err)
		case isEarlierStart(err) && time.Since(begun) < earlierStartTimeout:
			r.config.Log.Warn("containerd still takes back an earlier start; trying again", "container", c.ID, "error", err)
			if poll.Wait(ctx) != nil {
				return err
			}
		default:
			return err
		}
	}
}

// isEarlierStart reports whether containerd or runc has something of a container that containerd itself does not show: a start that
// broke off with the process of Pinion that had asked for it, and is taken back only now.
func isEarlierStart(err error) bool {
	failed, ok := errors.AsType[*runtimeError](err)
	return ok && (strings.HasSuffix(failed.text, ": file exists") || strings.HasSuffix(failed.text, "container with given ID already exists") ||
		strings.HasPrefix(failed.text, "failed to start shim: ") && strings.Contains(failed.text, "no such file or directory")) // it removes the directory
}

func (r *Runtime) tryStart(ctx context.Context, c runtime.ContainerSpec) error {
	s := &startOperation{runtime: r, spec: c, group: cgroup.ContainerPath(c), volumes: r.volumes.start(c.ID)}
	err := errors.Join(s.run(ctx), s.volumes.release(), s.userns.close())
	if err != nil && !errors.Is(err, runtime.ErrExists) {
		rollbackCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
		defer cancel()
		s.rollback(rollbackCtx)
	}
	return err
}

// startOperation is one Start in progress.
type startOperation struct {
	runtime *Runtime
	spec    runtime.ContainerSpec
	group   string // cgroup of the container
	volumes *volumeMounts
	userns  userNamespace
	shared  sharedNamespaces
	mounts  []mount.Mount
	record  containers.Container
	process *specs.Process
}

func (s *startOperation) run(ctx context.Context) error {
	if err := s.createContainer(ctx); errors.Is(err, runtime.ErrExists) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrCreate, err)
	}
	failpoint.Reached(failpoint.ContainerCreated)
	request, err := s.taskRequest()
	if err != nil {
		return fmt.Errorf("%w: %w", runtime.ErrCreate, err)
	}
	pid, err := s.createTask(ctx, request)
	if err == nil {
		err = s.findProgram(pid)
	}
	if err != nil {
		return err
	}
	failpoint.Reached(failpoint.ProcessCreated)
	if _, err := s.runtime.client.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: s.spec.ID}); err != nil {
		return shortenError(err)
	}
	failpoint.Reached(failpoint.ProcessStarted)
	if err := s.runtime.started.record(s.spec.ID, time.Now()); err != nil {
		return fmt.Errorf("note that the container was started: %w", err)
	}
	failpoint.Reached(failpoint.StartNoted)
	return nil
}

// createContainer runs all steps before the process.
func (s *startOperation) createContainer(ctx context.Context) error {
	img, err := s.runtime.images.Load(ctx, s.spec.Image)
	if err != nil {
		return err
	}
	if err := s.openUserNamespace(); err != nil {
		return err
	}
	if err := s.openSharedNamespaces(ctx); err != nil {
		return err
	}
	if s.mounts, err = s.rootFileSystem(ctx, img); err != nil {
		return err
	}
	failpoint.Reached(failpoint.SnapshotPrepared)
	s.record = containers.Container{
		ID: s.spec.ID, Image: s.spec.Image.Ref, Snapshotter: s.runtime.config.Snapshotter, SnapshotKey: s.spec.ID,
		Labels: containerLabels(s.spec, s.group),
	}
	spec, err := s.buildSpec(ctx, img)
	if err != nil {
		return err
	}
	s.process = spec.Process
	if s.record.Spec, err = typeurl.MarshalAny(spec); err != nil {
		return err
	}
	if s.record.Runtime, err = s.runtime.config.runcOptions(s.spec.IDs.First); err != nil {
		return err
	}
	if err := s.runtime.cgroups.CreateTask(cgroup.TaskPath(s.spec.Task.ID), cgroup.TaskLimits(s.spec.TaskDef)); err != nil {
		return err
	}
	if _, err = s.runtime.client.ContainerService().Create(ctx, s.record); errdefs.IsAlreadyExists(err) {
		return fmt.Errorf("%w: %s", runtime.ErrExists, s.spec.ID)
	}
	return err
}

// runcOptions are the runtime of a container whose output belongs to that user and group.
func (c Config) runcOptions(owner uint32) (containers.RuntimeInfo, error) {
	options, err := typeurl.MarshalAny(&runcoptions.Options{BinaryName: c.Runc, IoUid: owner, IoGid: owner})
	return containers.RuntimeInfo{Name: runtimeName, Options: options}, err
}

// rootFileSystem creates the container's writable layer on the image. An existing snapshot without its container is the
// remains of a crash during Start or Remove.
func (s *startOperation) rootFileSystem(ctx context.Context, img *images.Unpacked) ([]mount.Mount, error) {
	labels := snapshots.WithLabels(s.snapshotLabels())
	mounts, err := s.runtime.snapshots().Prepare(ctx, s.spec.ID, img.ChainID, labels)
	if errdefs.IsAlreadyExists(err) {
		if _, err := s.runtime.client.ContainerService().Get(ctx, s.spec.ID); !errdefs.IsNotFound(err) {
			return nil, fmt.Errorf("%w: %s", runtime.ErrExists, s.spec.ID)
		}
		if err := s.runtime.snapshots().Remove(ctx, s.spec.ID); err != nil {
			return nil, fmt.Errorf("remove what a crash has left: %w", err)
		}
		mounts, err = s.runtime.snapshots().Prepare(ctx, s.spec.ID, img.ChainID, labels)
	}
	if errdefs.IsNotFound(err) {
		s.runtime.images.Evict(s.spec.Image)
		return nil, fmt.Errorf("image %s is not unpacked on this host any more; run the task again to pull it", s.spec.Image.Ref)
	}
	return mounts, err
}

func (s *startOperation) taskRequest() (*tasks.CreateTaskRequest, error) {
	log, err := s.runtime.logURI(s.spec)
	if err != nil {
		return nil, err
	}
	request := &tasks.CreateTaskRequest{
		ContainerID: s.spec.ID,
		Stdout:      log,
		Stderr:      log,
		Terminal:    s.spec.Def.PseudoTerminal != nil && *s.spec.Def.PseudoTerminal,
		Options:     typeurl.MarshalProto(s.record.Runtime.Options),
		RuntimePath: s.runtime.config.Shim,
	}
	for _, m := range s.mounts {
		request.Rootfs = append(request.Rootfs, &types.Mount{Type: m.Type, Source: m.Source, Target: m.Target, Options: m.Options})
	}
	return request, nil
}

// createTask starts the shim, which creates the container up to its first process. The shim's pin is written concurrently.
func (s *startOperation) createTask(ctx context.Context, request *tasks.CreateTaskRequest) (pid uint32, err error) {
	if err := (orphanedShims{&s.runtime.config}).end(s.spec.ID); err != nil {
		return 0, err
	}
	kept := make(chan error, 1)
	go func() { kept <- s.runtime.shims.pin(ctx, s.spec.ID) }()
	created, err := s.runtime.client.TaskService().Create(ctx, request)
	keepErr := <-kept
	if err != nil {
		return 0, shortenError(err)
	}
	return created.Pid, keepErr
}

// rollback removes every part of the container, in any state. It retries until ctx ends, because the daemon may be the
// cause of the failure.
func (s *startOperation) rollback(ctx context.Context) {
	for poll := backoff.Poll(); ; {
		err := s.runtime.purge(ctx, s.spec.ID, s.group)
		if err == nil {
			err = s.runtime.removeTaskGroup(ctx, s.spec.Task.ID, 1)
		}
		if err == nil {
			return
		}
		if poll.Wait(ctx) != nil {
			s.runtime.config.Log.Error("what a failed start has left could not be removed", "container", s.spec.ID, "error", err)
			return
		}
	}
}
