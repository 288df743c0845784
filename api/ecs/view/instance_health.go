package view

import (
	"fmt"
	"strings"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// States of ECS's instance health checks.
const (
	checkOK       = "OK"
	checkImpaired = "IMPAIRED"
	checkUnknown  = "INSUFFICIENT_DATA"
)

// instanceHealth follows from the last report of the host; of a host that is silent nothing is known. A sick GPU shows where
// ECS's clients look for one: in the check ACCELERATED_COMPUTE.
func (r *Renderer) instanceHealth(h *spec.Host, connected bool) *types.ContainerInstanceHealthStatus {
	// A host that is connected reports all the time, so its checks are as old as the request.
	runtime := types.InstanceHealthCheckResult{Type: "CONTAINER_RUNTIME", Status: checkOK, LastUpdated: wire.NewTime(r.Now())}
	if !connected {
		runtime = types.InstanceHealthCheckResult{
			Type: runtime.Type, Status: checkUnknown, StatusReason: "the host is not connected: its heartbeats are missing", LastStatusChange: wire.NewTime(h.LostAt),
		}
	}
	health := &types.ContainerInstanceHealthStatus{OverallStatus: runtime.Status, Details: []types.InstanceHealthCheckResult{runtime}}
	problems := gpuProblems(h)
	if len(h.GPUs.Devices) == 0 && len(problems) == 0 {
		return health
	}
	compute := runtime
	compute.Type, compute.LastStatusChange = "ACCELERATED_COMPUTE", wire.NewTime(h.HealthAt)
	if len(problems) > 0 {
		compute.Status, compute.StatusReason = checkImpaired, strings.Join(problems, "; ")
		health.OverallStatus = checkImpaired
	}
	health.Details = append(health.Details, compute)
	return health
}

func gpuProblems(h *spec.Host) []string {
	var problems []string
	if h.GPUs.Problem != "" {
		problems = append(problems, h.GPUs.Problem)
	}
	for _, device := range h.GPUs.Devices {
		if device.Health != gpu.Healthy {
			problems = append(problems, strings.TrimSpace(fmt.Sprintf("%s is %s %s", device.UUID, device.Health, device.Problem)))
		}
	}
	return problems
}
