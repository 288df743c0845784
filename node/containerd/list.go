package containerd

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"pinion/node/runtime"
)

// List returns every container of Pinion's, running or exited. Exit is set once Wait has recorded it; a container whose
// process exited since has neither Exit nor PID, and Wait returns at once.
func (r *Runtime) List(ctx context.Context) ([]runtime.ExistingContainer, error) {
	ctx = r.inNamespace(ctx)
	records, err := r.client.ContainerService().List(ctx, "labels."+quoted(labelTask))
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	running, err := r.client.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", errgrpc.ToNative(err))
	}
	pids, begun := map[string]int{}, map[string]bool{}
	for _, process := range running.Tasks {
		if !processStopped(process) {
			pids[process.ID] = int(process.Pid)
		}
		begun[process.ID] = process.Status != task.Status_CREATED && process.Status != task.Status_UNKNOWN
	}
	found := make([]runtime.ExistingContainer, 0, len(records))
	for _, record := range records {
		started := r.started.startedAt(record.ID)
		if started.IsZero() && begun[record.ID] && record.Labels[labelNotStarted] == "" {
			// Pinion died between the start and its note of it. Reported as never started, it would be started twice.
			started = record.CreatedAt
		}
		found = append(found, runtime.ExistingContainer{
			ID:        record.ID,
			TaskID:    record.Labels[labelTask],
			Name:      record.Labels[labelContainer],
			Image:     runtime.Image{Ref: record.Labels[labelImage], Digest: record.Labels[labelDigest]},
			PID:       pids[record.ID],
			GPUs:      splitList(record.Labels[labelGPUs]),
			Shared:    record.Labels[labelShared] == "true",
			CreatedAt: record.CreatedAt,
			StartedAt: started,
			Exit:      recordedExit(record.Labels),
		})
	}
	return found, nil
}

func processStopped(p *task.Process) bool {
	return p.Status == task.Status_STOPPED || p.Status == task.Status_UNKNOWN
}

// quoted quotes a label's name with dots for use in a filter.
func quoted(name string) string { return `"` + name + `"` }

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
