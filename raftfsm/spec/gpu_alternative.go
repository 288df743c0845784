package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TagGPUAlternatives lists the GPUs that a task can run on, in the order of preference: "H200:1/H100:2" is one H200 or else two H100.
const TagGPUAlternatives = "pinion.gpu-alternatives"

// maxGPUAlternatives bounds the alternatives of a task: each is planned like a request of its own.
const maxGPUAlternatives = 8

// GPUAlternative is one choice of GPUs for a task.
type GPUAlternative struct {
	Model string // a part of the name of the model, in any case
	GPUs  int    // whole GPUs, 1 to 1,024
}

// String is the alternative as TagGPUAlternatives has it.
func (a GPUAlternative) String() string { return fmt.Sprintf("%s:%d", a.Model, a.GPUs) }

// ParseGPUAlternatives reads a value of TagGPUAlternatives: 2 to 8 alternatives.
func ParseGPUAlternatives(s string) (list []GPUAlternative, err error) {
	for part := range strings.SplitSeq(s, "/") {
		model, count, _ := strings.Cut(part, ":")
		gpus, err := strconv.Atoi(strings.TrimSpace(count))
		if model = strings.TrimSpace(model); model == "" || err != nil || gpus < 1 || gpus > 1024 {
			return nil, errors.New(`write models and numbers of GPUs in the order of preference, such as "H200:1/H100:2"`)
		}
		list = append(list, GPUAlternative{model, gpus})
	}
	if len(list) < 2 || len(list) > maxGPUAlternatives {
		return nil, fmt.Errorf("write 2 to %d alternatives with / between them, not %d", maxGPUAlternatives, len(list))
	}
	return list, nil
}

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
