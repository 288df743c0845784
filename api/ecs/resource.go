package ecs

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// resourceAmount is ECS's Resource: every value field is there, whatever the type.
type resourceAmount struct {
	Name         string      `json:"name"`
	Type         string      `json:"type"`
	DoubleValue  wire.Double `json:"doubleValue"`
	LongValue    int64       `json:"longValue"`
	IntegerValue int64       `json:"integerValue"`
	Set          []string    `json:"stringSetValue,omitzero"`
}

func integerResource(name string, n int64) resourceAmount {
	return resourceAmount{Name: name, Type: "INTEGER", IntegerValue: n}
}

func stringSetResource(name string, values []string) resourceAmount {
	return resourceAmount{Name: name, Type: "STRINGSET", Set: nonNil(values)}
}

// registeredResources is all that a host has. A host without GPUs has no GPU resource at all.
func registeredResources(h *spec.Host) []resourceAmount {
	resources := []resourceAmount{
		integerResource("CPU", h.CPU), integerResource("MEMORY", h.MemoryMiB), stringSetResource("PORTS", portsOf(slices.Values(h.Ports))), stringSetResource("PORTS_UDP", nil),
	}
	if len(h.GPUs.Devices) > 0 {
		resources = append(resources, stringSetResource("GPU", gpuUUIDs(h)))
	}
	return resources
}

// remainingResources is what is free of CPU, memory and GPUs; of ports, as ECS has it, what is taken.
func remainingResources(h *spec.Host, free spec.Free) []resourceAmount {
	resources := []resourceAmount{
		integerResource("CPU", free.CPU), integerResource("MEMORY", free.MemoryMiB),
		stringSetResource("PORTS", portsOf(maps.Keys(free.Ports))), stringSetResource("PORTS_UDP", portsOf(maps.Keys(free.UDPPorts))),
	}
	if len(h.GPUs.Devices) > 0 {
		resources = append(resources, stringSetResource("GPU", free.GPUs))
	}
	return resources
}

func portsOf(ports iter.Seq[int]) []string {
	var text []string
	for _, port := range slices.Sorted(ports) {
		text = append(text, strconv.Itoa(port))
	}
	return text
}

func gpuUUIDs(h *spec.Host) []string {
	var ids []string
	for _, device := range h.GPUs.Devices {
		ids = append(ids, device.UUID)
	}
	return ids
}

// instanceHealth is where ECS clients look for a sick GPU: the check ACCELERATED_COMPUTE.
type instanceHealth struct {
	Overall string        `json:"overallStatus"`
	Details []healthCheck `json:"details"`
}

type healthCheck struct {
	Type      string    `json:"type"`
	Status    string    `json:"status"`
	Reason    string    `json:"statusReason,omitempty"`
	UpdatedAt wire.Time `json:"lastUpdated,omitzero"`      // a host that is heard of says all the time how it is
	ChangedAt wire.Time `json:"lastStatusChange,omitzero"` // left out where nobody noted it
}

const (
	healthOK       = "OK"
	healthImpaired = "IMPAIRED"
	healthUnknown  = "INSUFFICIENT_DATA"
)

// renderHealth judges by what the host said last; of a host that is silent nothing is known.
func (c *Request) renderHealth(h *spec.Host, connected bool) *instanceHealth {
	runtime := healthCheck{Type: "CONTAINER_RUNTIME", Status: healthOK, UpdatedAt: wire.NewTime(c.Now())}
	if !connected {
		runtime = healthCheck{Type: runtime.Type, Status: healthUnknown, Reason: "the host has not been heard of lately", ChangedAt: wire.NewTime(h.LostAt)}
	}
	health := &instanceHealth{Overall: runtime.Status, Details: []healthCheck{runtime}}
	sick := gpuProblems(h)
	if len(h.GPUs.Devices) == 0 && len(sick) == 0 {
		return health
	}
	compute := runtime
	compute.Type, compute.ChangedAt = "ACCELERATED_COMPUTE", wire.NewTime(h.HealthAt)
	if len(sick) > 0 {
		compute.Status, compute.Reason = healthImpaired, strings.Join(sick, "; ")
		health.Overall = healthImpaired
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
		if device.Health != "HEALTHY" {
			problems = append(problems, strings.TrimSpace(fmt.Sprintf("%s is %s %s", device.UUID, device.Health, device.Problem)))
		}
	}
	return problems
}
