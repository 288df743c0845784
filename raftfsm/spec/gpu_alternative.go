package spec

import (
	"slices"
	"strconv"

	"pinion/raftfsm/gpuchoice"
)

// TagGPUAlternatives lists the GPUs that a task can run on, in the order of preference: "H200:1/H100:2" is one H200 or else two H100.
const TagGPUAlternatives = "pinion.gpu-alternatives"

// GPUAlternative is one choice of GPUs for a task.
type GPUAlternative = gpuchoice.Alternative

// ParseGPUAlternatives reads a value of TagGPUAlternatives: 2 to 8 alternatives.
func ParseGPUAlternatives(s string) ([]GPUAlternative, error) { return gpuchoice.Parse(s) }

// GPUContainer is the index of the only container of an effective definition that asks for GPUs, by a number of whole ones; -1 when there is none such.
func (d *TaskDefinition) GPUContainer() int {
	at := -1
	for i := range d.Containers {
		switch gpus := d.Containers[i].gpus(); {
		case d.Containers[i].share() != nil, gpus == allGPUs, gpus > 0 && at >= 0:
			return -1
		case gpus > 0:
			at = i
		}
	}
	return at
}

// WithGPUs is a copy of the overrides in which the container asks for so many whole GPUs.
func (o TaskOverride) WithGPUs(container string, gpus int) TaskOverride {
	o.Containers = slices.Clone(o.Containers)
	at := slices.IndexFunc(o.Containers, func(c ContainerOverride) bool { return c.Name == container })
	if at < 0 {
		at = len(o.Containers)
		o.Containers = append(o.Containers, ContainerOverride{Name: container})
	}
	o.Containers[at].ResourceRequirements = []ResourceRequirement{{Type: requirementGPU, Value: strconv.Itoa(gpus)}}
	return o
}
