package taskdef

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/lazyregexp"
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

// gpuRequest holds the GPU requirements of a container in ECS's own form.
type gpuRequest struct {
	requirements []spec.ResourceRequirement // nil when it asks for none
	capabilities []string                   // for NVIDIA_DRIVER_CAPABILITIES, unless the container sets it itself
}

// parseGPUs reads the forms in which people ask for GPUs: ECS's {type, value}, {type, count, capabilities}, gpuCount.
func parseGPUs(c container, requirements []types.ResourceRequirementInput, gpuCount any) (gpuRequest, error) {
	var request gpuRequest
	for i, r := range requirements {
		path := field.Index("resourceRequirements", i)
		if !strings.EqualFold(r.Type, resourceGPU) {
			return request, c.errorf(field.Join(path, "type"), "%s.type must be GPU, not %q.", path, r.Type)
		}
		requirement, err := parseRequirement(c, path, r)
		if err != nil {
			return request, err
		}
		if err := request.add(c, path, requirement); err != nil {
			return request, err
		}
		for _, capability := range r.Capabilities {
			if !slices.Contains(knownCapabilities, capability) {
				return request, c.errorf(field.Join(path, "capabilities"), "%s.capabilities must hold only %s, not %q.", path, strings.Join(knownCapabilities, ", "), capability)
			}
		}
		request.capabilities = r.Capabilities
	}
	if gpuCount == nil {
		return request, nil
	}
	n, err := parseGPUNumber(c, "gpuCount", gpuCount)
	if err != nil {
		return request, err
	}
	return request, request.add(c, "gpuCount", wholeGPUs(n))
}

func wholeGPUs(n int) spec.ResourceRequirement {
	return spec.ResourceRequirement{Type: resourceGPU, Value: strconv.Itoa(n)}
}

func (r *gpuRequest) add(c container, path string, requirement spec.ResourceRequirement) error {
	if r.requirements != nil {
		return field.Errorf(field.Join(c.path, path), "Container '%s' asks for GPUs more than once. Keep one entry of resourceRequirements, with the number of GPUs in value.", c.Name)
	}
	r.requirements = []spec.ResourceRequirement{requirement}
	return nil
}

// parseRequirement makes ECS's own form of a requirement: a number, every GPU of the host, or a part of one.
func parseRequirement(c container, path string, r types.ResourceRequirementInput) (spec.ResourceRequirement, error) {
	switch {
	case r.SharingStrategy != nil && (r.Value != nil || r.Count != nil):
		return spec.ResourceRequirement{}, c.errorf(path, "%s has both value and sharingStrategy. Keep one: value for whole GPUs, sharingStrategy for a part of one.", path)
	case r.SharingStrategy != nil:
		return spec.ResourceRequirement{Type: resourceGPU, SharingStrategy: r.SharingStrategy}, checkSharing(c, path, r.SharingStrategy)
	case r.Value == spec.AllGPUs && r.Count == nil:
		return spec.ResourceRequirement{Type: resourceGPU, Value: spec.AllGPUs}, nil
	}
	n, err := parseAmount(c, path, r)
	return wholeGPUs(n), err
}

func checkSharing(c container, path string, s *spec.SharingStrategy) error {
	path = field.Join(path, "sharingStrategy")
	mps := s.NvidiaMPS
	switch {
	case mps == nil:
		return c.errorf(field.Join(path, "nvidiaMps"), "%s must have nvidiaMps.", path)
	case mps.Memory < 1 || mps.Memory > maxInteger:
		return c.errorf(field.Join(path, "nvidiaMps.memory"), "%s.nvidiaMps.memory must be 1 to %d MiB, not %d.", path, maxInteger, mps.Memory)
	case mps.MaxComputePercent != nil && (*mps.MaxComputePercent < 1 || *mps.MaxComputePercent > 100):
		return c.errorf(field.Join(path, "nvidiaMps.maxComputePercent"), "%s.nvidiaMps.maxComputePercent must be 1 to 100, not %d.", path, *mps.MaxComputePercent)
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
		return field.Errorf("containerDefinitions", "A container with the GPU value ALL gets every GPU of the host, so it must be the only one with GPUs, not one of %s.", strings.Join(wanting, ", "))
	}
	if shared > 0 && shared < len(wanting) {
		return field.Errorf("containerDefinitions", "All containers with GPUs must use the same option, whole GPUs or sharingStrategy: %s.", strings.Join(wanting, ", "))
	}
	return nil
}

// parseAmount reads the number of GPUs of a requirement.
func parseAmount(c container, path string, r types.ResourceRequirementInput) (int, error) {
	value := field.Join(path, "value")
	switch {
	case r.Value != nil && r.Count != nil:
		return 0, c.errorf(path, "%s has both value and count. Keep value.", path)
	case r.Count != nil:
		return parseGPUNumber(c, field.Join(path, "count"), r.Count)
	case r.Value == nil:
		return 0, c.gpuError(value, "it is missing", expectedValue)
	}
	text, ok := r.Value.(string)
	if !ok {
		return 0, c.gpuError(value, "not "+formatValue(r.Value), expectedValue)
	}
	n, ok := parseWholeNumber(text)
	if !ok {
		return 0, c.gpuError(value, "not "+formatValue(text), expectedValue)
	}
	return n, nil
}

// parseGPUNumber reads count and gpuCount, which people write as numbers.
func parseGPUNumber(c container, path string, v any) (int, error) {
	if number, ok := v.(json.Number); ok {
		if n, ok := parseWholeNumber(number.String()); ok {
			return n, nil
		}
	}
	return 0, c.gpuError(path, "not "+formatValue(v), "a whole number from 1")
}

// expectedValue describes ECS's own form of the amount.
const expectedValue = `"ALL", or a string that holds a whole number from 1, such as "1"`

var positiveNumber = lazyregexp.New(`^[1-9][0-9]{0,8}$`)

func parseWholeNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && positiveNumber.MatchString(text) && n <= maxGPUs
}

func (c container) gpuError(path, got, want string) error {
	return c.errorf(path, "%s must be %s (at most %d): %s.", path, want, maxGPUs, got)
}

// formatValue is a value as the client wrote it.
func formatValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil || len(text) > 40 {
		return "what was given"
	}
	return string(text)
}
