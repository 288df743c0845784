package schedule

import (
	"fmt"
	"strings"

	"pinion/raftfsm/spec"
)

// filter returns why a host cannot run a task of the request: ECS's reason and a detail for people; both are "" when it can.
type filter func(a *evaluation, h *Host) (reason, detail string)

// Filters run in this order; the first refusal is reported.
var (
	startFilters = []filter{active, connected, isolation, attributes, resources}
	runFilters   = append(startFilters[:len(startFilters):len(startFilters)], distinctInstance, memberOf)
)

func active(_ *evaluation, h *Host) (reason, detail string) {
	if h.Host.Status == spec.HostActive {
		return "", ""
	}
	return spec.ReasonInactive, fmt.Sprintf("the host is %s", h.Host.Status)
}

func connected(_ *evaluation, h *Host) (reason, detail string) {
	if h.Connected {
		return "", ""
	}
	return spec.ReasonAgent, "the host is not connected: its heartbeats are missing"
}

func attributes(a *evaluation, h *Host) (reason, detail string) {
	for _, required := range a.attributes {
		value, carried := h.Host.Attribute(required.Name)
		if !carried {
			return spec.ReasonAttribute, "the host does not have the attribute " + required.Name
		}
		if required.Value != "" && required.Value != value {
			return spec.ReasonAttribute, fmt.Sprintf("attribute %s is %q, needs %q", required.Name, value, required.Value)
		}
	}
	return "", ""
}

// isolation keeps tasks that could open GPUs of other tasks off hosts with GPUs. A host whose GPUs cannot be detected at the
// moment counts as a GPU host.
func isolation(a *evaluation, h *Host) (reason, detail string) {
	gpus := &h.Host.GPUs
	if a.isolation == "" || (len(gpus.Devices) == 0 && gpus.Problem == "") {
		return "", ""
	}
	return spec.ReasonAttribute, a.isolation + " and could reach every GPU of this host: remove that, or run it on a host without GPUs"
}

func resources(a *evaluation, h *Host) (reason, detail string) {
	reason, detail = spec.Fits(h.Free, a.demandOn(h))
	if problem := h.Host.GPUs.Problem; reason == spec.ReasonGPU && problem != "" {
		detail += " (" + problem + ")"
	}
	return reason, detail
}

// platform converts the CPU architecture of a definition into the host attribute that it requires.
func platform(d *spec.TaskDefinition) []spec.Attribute {
	if d.RuntimePlatform == nil || d.RuntimePlatform.CPUArchitecture == "" {
		return nil
	}
	architecture := strings.ToLower(d.RuntimePlatform.CPUArchitecture)
	return []spec.Attribute{{Name: "ecs.cpu-architecture", Value: architecture}}
}
