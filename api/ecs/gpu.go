package ecs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

const (
	resourceGPU = "GPU"
	// maxGPUs is far above what any host has; what no host has is refused at placement, with the hosts' reasons.
	maxGPUs = 1024
	// driverCapabilities tells the NVIDIA runtime which parts of the driver a container gets.
	driverCapabilities = "NVIDIA_DRIVER_CAPABILITIES"
)

var knownCapabilities = []string{"all", "compute", "compat32", "display", "graphics", "ngx", "utility", "video"}

// gpuRequest is what a container asks for, in ECS's own form.
type gpuRequest struct {
	requirements []spec.ResourceRequirement // nil when it asks for none
	capabilities []string                   // for NVIDIA_DRIVER_CAPABILITIES, unless the container sets it itself
}

// parseGPUs reads the forms in which people ask for GPUs: ECS's {type, value}, {type, count, capabilities}, gpuCount.
func parseGPUs(container string, requirements []requirementInput, gpuCount any) (gpuRequest, error) {
	var demand gpuRequest
	for i, r := range requirements {
		field := fmt.Sprintf("resourceRequirements[%d]", i)
		if !strings.EqualFold(r.Type, resourceGPU) {
			return demand, wire.Errorf(wire.Client, "Container '%s': %s.type must be GPU, not %q.", container, field, r.Type)
		}
		requirement, err := r.normalise(container, field)
		if err != nil {
			return demand, err
		}
		if err := demand.add(container, requirement); err != nil {
			return demand, err
		}
		for _, capability := range r.Capabilities {
			if !slices.Contains(knownCapabilities, capability) {
				return demand, wire.Errorf(wire.Client, "Container '%s': %s.capabilities must hold only %s, not %q.", container, field, strings.Join(knownCapabilities, ", "), capability)
			}
		}
		demand.capabilities = r.Capabilities
	}
	if gpuCount == nil {
		return demand, nil
	}
	n, err := parseGPUNumber(container, "gpuCount", gpuCount)
	if err != nil {
		return demand, err
	}
	return demand, demand.add(container, wholeGPUs(n))
}

func wholeGPUs(n int) spec.ResourceRequirement {
	return spec.ResourceRequirement{Type: resourceGPU, Value: strconv.Itoa(n)}
}

func (d *gpuRequest) add(container string, r spec.ResourceRequirement) error {
	if d.requirements != nil {
		return wire.Errorf(wire.Client, "Container '%s' asks for GPUs more than once. Keep one entry of resourceRequirements, with the number of GPUs in value.", container)
	}
	d.requirements = []spec.ResourceRequirement{r}
	return nil
}

// normalise makes ECS's own form of a requirement: a number, every GPU of the host, or a part of one.
func (r requirementInput) normalise(container, field string) (spec.ResourceRequirement, error) {
	switch {
	case r.Sharing != nil && (r.Value != nil || r.Count != nil):
		return spec.ResourceRequirement{}, wire.Errorf(wire.Client, "Container '%s': %s has both value and sharingStrategy. Keep one: value for whole GPUs, sharingStrategy for a part of one.", container, field)
	case r.Sharing != nil:
		return spec.ResourceRequirement{Type: resourceGPU, SharingStrategy: r.Sharing}, checkSharing(container, field, r.Sharing)
	case r.Value == spec.AllGPUs && r.Count == nil:
		return spec.ResourceRequirement{Type: resourceGPU, Value: spec.AllGPUs}, nil
	}
	n, err := r.parseAmount(container, field)
	return wholeGPUs(n), err
}

func checkSharing(container, field string, s *spec.SharingStrategy) error {
	mps := s.NvidiaMPS
	switch {
	case mps == nil:
		return wire.Errorf(wire.Client, "Container '%s': %s.sharingStrategy must have nvidiaMps.", container, field)
	case mps.Memory < 1 || mps.Memory > maxInteger:
		return wire.Errorf(wire.Client, "Container '%s': %s.sharingStrategy.nvidiaMps.memory must be 1 to %d MiB, not %d.", container, field, maxInteger, mps.Memory)
	case mps.MaxComputePercent != nil && (*mps.MaxComputePercent < 1 || *mps.MaxComputePercent > 100):
		return wire.Errorf(wire.Client, "Container '%s': %s.sharingStrategy.nvidiaMps.maxComputePercent must be 1 to 100, not %d.", container, field, *mps.MaxComputePercent)
	}
	return nil
}

// checkGPUs holds the rules for the GPUs of all the containers of a task together.
func checkGPUs(d *spec.TaskDefinition) error {
	var wanting []string
	shared := 0
	for _, c := range d.Containers {
		if len(c.ResourceRequirements) > 0 {
			wanting = append(wanting, c.Name)
		}
		for _, r := range c.ResourceRequirements {
			if r.SharingStrategy != nil {
				shared++
			}
		}
	}
	if d.WantsAllGPUs() && len(wanting) > 1 {
		return wire.Errorf(wire.Client, "A container with the GPU value ALL gets every GPU of the host, so it must be the only one with GPUs, not one of %s.", strings.Join(wanting, ", "))
	}
	if shared > 0 && shared < len(wanting) {
		return wire.Errorf(wire.Client, "All containers with GPUs must use the same option, whole GPUs or sharingStrategy: %s.", strings.Join(wanting, ", "))
	}
	return nil
}

func (r requirementInput) parseAmount(container, field string) (int, error) {
	switch {
	case r.Value != nil && r.Count != nil:
		return 0, wire.Errorf(wire.Client, "Container '%s': %s has both value and count. Keep value.", container, field)
	case r.Count != nil:
		return parseGPUNumber(container, field+".count", r.Count)
	case r.Value == nil:
		return 0, gpuError(container, field+".value", "it is missing", expectedValue)
	}
	text, ok := r.Value.(string)
	if !ok {
		return 0, gpuError(container, field+".value", "not "+formatValue(r.Value), expectedValue)
	}
	n, ok := parseWholeNumber(text)
	if !ok {
		return 0, gpuError(container, field+".value", "not "+formatValue(text), expectedValue)
	}
	return n, nil
}

// parseGPUNumber reads count and gpuCount, which people write as numbers.
func parseGPUNumber(container, field string, v any) (int, error) {
	if number, ok := v.(json.Number); ok {
		if n, ok := parseWholeNumber(number.String()); ok {
			return n, nil
		}
	}
	return 0, gpuError(container, field, "not "+formatValue(v), "a whole number from 1")
}

// expectedValue is what ECS's own form of the amount looks like.
const expectedValue = `"ALL", or a string that holds a whole number from 1, such as "1"`

var positiveNumber = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

func parseWholeNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && positiveNumber.MatchString(text) && n <= maxGPUs
}

func gpuError(container, field, got, want string) error {
	return wire.Errorf(wire.Client, "Container '%s': %s must be %s (at most %d): %s.", container, field, want, maxGPUs, got)
}

// formatValue is a value as the client wrote it.
func formatValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 40 {
		return "what was given"
	}
	return string(text)
}
