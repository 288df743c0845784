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
	startFilters = []filter{active, connected, daemonsFirst, isolated, attributes, resources}
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
			return spec.ReasonAttribute, "the host does not have the attribute " + required.Name + remedy(required.Name)
		}
		if required.Value != "" && required.Value != value {
			return spec.ReasonAttribute, fmt.Sprintf("attribute %s is %q, needs %q", required.Name, value, required.Value)
		}
	}
	return "", ""
}

// remedy says what to do where a host lacks an attribute that few have.
func remedy(attribute string) string {
	if attribute == spec.CapabilityGPUSharing {
		return ": it enforces no limit of GPU memory (" + spec.AttributeVRAMEnforcement + " is none), so it shares no GPU. Run pinion up with --gpus auto,mps there, or ask for whole GPUs, with value"
	}
	return ""
}

// isolated keeps tasks off hosts that do not give what they ask for beyond their containers. To ECS it is a capability that the
// host lacks.
func isolated(a *evaluation, h *Host) (reason, detail string) {
	if detail = a.isolation.RefusedBy(h.Host, a.Run.ByAdmin); detail == "" {
		return "", ""
	}
	return spec.ReasonAttribute, detail
}

func resources(a *evaluation, h *Host) (reason, detail string) {
	only := a.gpuConstraints.restrict(h)
	lack, fits := spec.Fits(&only.Free, a.demandOn(h))
	if fits {
		return "", ""
	}
	if lack.Reason == spec.ReasonGPU && a.gpuConstraints.refuse(h) {
		return a.gpuConstraints.refusal(), a.gpuConstraints.why(h)
	}
	return lack.Reason, lack.Detail() + a.gpuConstraints.ofEligible(lack, only.Host, h.Host) + gpuProblem(lack, h)
}

// gpuProblem adds to a shortfall of GPUs why the host's cannot be seen.
func gpuProblem(lack spec.Shortfall, h *Host) string {
	if problem := h.Host.GPUs.Problem; lack.Reason == spec.ReasonGPU && problem != "" {
		return " (" + problem + ")"
	}
	return ""
}

// platform converts the CPU architecture of a definition into the host attribute that it requires.
func platform(d *spec.TaskDefinition) []spec.Attribute {
	if d.RuntimePlatform == nil || d.RuntimePlatform.CPUArchitecture == "" {
		return nil
	}
	architecture := strings.ToLower(d.RuntimePlatform.CPUArchitecture)
	return []spec.Attribute{{Name: "ecs.cpu-architecture", Value: architecture}}
}
