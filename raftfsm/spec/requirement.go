package spec

const (
	requirementGPU = "GPU"
	// AllGPUs as the Value of a ResourceRequirement asks for every GPU of the host, one at least and the sick ones
	// included: a task that counts on the whole host does not get a part of it.
	AllGPUs = "ALL"
)

// ResourceRequirement asks for GPUs: Type "GPU", and either Value, a positive integer in decimal or AllGPUs, or
// SharingStrategy.
type ResourceRequirement struct {
	Value           string           `json:"value,omitempty"`
	Type            string           `json:"type"`
	SharingStrategy *SharingStrategy `json:"sharingStrategy,omitempty"`
}

// SharingStrategy asks for a share of a GPU, which hosts have whose capabilities say so (see Host.SharesGPUs).
type SharingStrategy struct {
	NvidiaMPS *NvidiaMPS `json:"nvidiaMps,omitempty"`
}

// NvidiaMPS shares a GPU by NVIDIA's Multi-Process Service.
type NvidiaMPS struct {
	Memory            int64  `json:"memory"`                      // MiB of the GPU's memory
	MaxComputePercent *int64 `json:"maxComputePercent,omitempty"` // 1 to 100 of its threads
}

// WantsAllGPUs reports whether a container of the task wants every GPU of its host.
func (d *TaskDefinition) WantsAllGPUs() bool {
	for i := range d.Containers {
		if d.Containers[i].wantsAllGPUs() {
			return true
		}
	}
	return false
}

// SharesGPU reports whether a container of the task wants a part of a GPU.
func (d *TaskDefinition) SharesGPU() bool {
	for i := range d.Containers {
		if d.Containers[i].Sharing() != nil {
			return true
		}
	}
	return false
}

func (c *ContainerDefinition) wantsAllGPUs() bool {
	for _, r := range c.ResourceRequirements {
		if r.Type == requirementGPU && r.Value == AllGPUs {
			return true
		}
	}
	return false
}
