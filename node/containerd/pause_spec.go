package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// nobody is the user of pause containers.
const nobody = 65534

// spec is the OCI spec of a pause container. The containers of its task see its process, so it has nothing that they could want: no
// user, no capability, no network, and an empty file system with its program, to be read.
func (p *pauseContainers) spec(ctx context.Context, record *containers.Container, group string) (*specs.Spec, error) {
	b := &specBuilder{spec: runtime.ContainerSpec{Def: &spec.ContainerDefinition{}}, profile: p.runtime.profile}
	return oci.GenerateSpec(ctx, p.runtime.client, record, oci.WithDefaultUnixDevices, oci.WithoutRunMount, oci.WithCgroup(group),
		func(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
			// Without an OOM score it has the shim's, which the kernel spares: the other containers would end with it.
			s.Process = &specs.Process{
				Args: []string{entrypointPath, argumentPause}, Cwd: "/", Env: []string{"GOMAXPROCS=1"}, User: specs.User{UID: nobody, GID: nobody},
				Capabilities: &specs.LinuxCapabilities{}, NoNewPrivileges: true,
			}
			s.Root.Readonly = true
			s.Hostname = "pause"
			return b.bind(s, p.runtime.config.Entrypoint, entrypointPath, true)
		},
		b.security,
	)
}

// sharedNamespaces are the namespaces of the pause container that a container of its task joins, as paths for runc; empty: it has its own.
type sharedNamespaces struct {
	pid, ipc     string
	sharedMemory string // directory with /dev/shm
}

// openSharedNamespaces has the pause container of the task made, and mounts the namespaces that the container shares where runc finds them,
// as long as the start lasts.
func (s *startOperation) openSharedNamespaces(ctx context.Context) error {
	d, pauses := s.spec.TaskDef, s.runtime.pauses
	if !sharesNamespaces(d) {
		return nil
	}
	if !s.spec.IDs.IsZero() { // the placement refuses it: only the user namespace that a namespace belongs to can mount its /proc
		return errors.New("containers with user namespaces cannot share process ids or IPC: remove pidMode and ipcMode task, or run the task where user namespaces are not asked for")
	}
	if err := s.volumes.staging.checkNamespace(); err != nil {
		return err
	}
	pid, err := pauses.ensure(ctx, s.spec.Task, d)
	if err != nil {
		return fmt.Errorf("pause container of the task: %w", err)
	}
	if d.PIDMode == namespaceTask {
		if s.shared.pid, err = s.pinNamespace(pid, "pid"); err != nil {
			return err
		}
	}
	if d.IPCMode == namespaceTask {
		s.shared.sharedMemory = pauses.sharedMemory(s.spec.Task.ID)
		if s.shared.ipc, err = s.pinNamespace(pid, "ipc"); err != nil {
			return err
		}
	}
	// If the pause container still runs, the opened namespaces are its own: no other process had its id in between.
	if now, err := pauses.find(ctx, s.spec.Task.ID); err != nil || now != pid {
		return errors.Join(err, errors.New("the pause container of the task ended during the start of a container"))
	}
	return nil
}

func (s *startOperation) pinNamespace(pid int, kind string) (path string, err error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err == nil {
		path, err = s.volumes.pin(file)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return "", fmt.Errorf("shared namespace: %w", err)
	}
	return path, nil
}

// share has the container join the namespaces.
func (n sharedNamespaces) share() (all []oci.SpecOpts) {
	for kind, path := range map[specs.LinuxNamespaceType]string{specs.PIDNamespace: n.pid, specs.IPCNamespace: n.ipc} {
		if path != "" {
			all = append(all, oci.WithLinuxNamespace(specs.LinuxNamespace{Type: kind, Path: path}))
		}
	}
	return all
}
