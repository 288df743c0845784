package containerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"pinion/node/runtime"
)

// RunningTasks returns the ids of the tasks with a container that runs on the daemon at an address, in a namespace ("": that of
// Pinion's own daemon). It changes nothing, and needs no Runtime: another process may have one. There are none where no daemon
// answers.
func RunningTasks(ctx context.Context, address, namespace string) (ids []string, err error) {
	connection, err := net.Dial("unix", address)
	if err != nil {
		return nil, nil
	}
	connection.Close()
	client, err := containerd.New(address)
	if err != nil {
		return nil, fmt.Errorf("containerd at %s: %w", address, err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ctx = namespaces.WithNamespace(ctx, Config{Namespace: namespace}.withDefaults().Namespace)
	records, err := client.ContainerService().List(ctx, "labels."+quoted(labelTask))
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	running, err := client.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", errgrpc.ToNative(err))
	}
	var found []runtime.ExistingContainer
	for _, process := range running.Tasks {
		for _, record := range records {
			if record.ID == process.ID && !processStopped(process) {
				found = append(found, runtime.ExistingContainer{TaskID: record.Labels[labelTask], PID: int(process.Pid)})
			}
		}
	}
	return TasksOf(found), nil
}

// TasksOf returns the ids of the tasks with a container that runs, each once.
func TasksOf(containers []runtime.ExistingContainer) (ids []string) {
	for _, c := range containers {
		if c.PID != 0 {
			ids = append(ids, c.TaskID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
