package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// privilegedCapabilities are the capabilities with which a process gets at devices that its control group keeps from it.
var privilegedCapabilities = []string{"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "BPF", "DAC_READ_SEARCH"}

// kernelPaths are the directories through which a process that may write changes what its host allows it. /dev is none
// of them: its nodes open only what the container's control group allows.
var kernelPaths = []string{"/sys", "/proc"}

// IsolationViolation says by what a task could reach GPUs that it does not own, in words that name the container and the field;
// empty when there is nothing. Such a task does not run on a host with GPUs.
func (d *TaskDefinition) IsolationViolation() string {
	for i := range d.Containers {
		c := &d.Containers[i]
		if c.Privileged != nil && *c.Privileged {
			return fmt.Sprintf("container %s is privileged", c.Name)
		}
		if power := c.privilegedCapability(); power != "" {
			return fmt.Sprintf("container %s has the capability %s", c.Name, power)
		}
		for _, m := range c.MountPoints {
			if source := d.hostPath(m.SourceVolume); !m.ReadOnly && isKernelPath(source) {
				return fmt.Sprintf("container %s may write to the host's %s", c.Name, source)
			}
		}
	}
	return ""
}

func (c *ContainerDefinition) privilegedCapability() string {
	if c.LinuxParameters == nil || c.LinuxParameters.Capabilities == nil {
		return ""
	}
	for _, added := range c.LinuxParameters.Capabilities.Add {
		if slices.Contains(privilegedCapabilities, strings.TrimPrefix(strings.ToUpper(added), "CAP_")) {
			return added
		}
	}
	return ""
}

// hostPath is the directory of the host behind a volume; empty for scratch space.
func (d *TaskDefinition) hostPath(volume string) string {
	for _, v := range d.Volumes {
		if v.Name == volume && v.Host != nil && v.Host.SourcePath != "" {
			return path.Clean(v.Host.SourcePath)
		}
	}
	return ""
}

func isKernelPath(source string) bool {
	return source == "/" || slices.ContainsFunc(kernelPaths, func(tree string) bool {
		return source == tree || strings.HasPrefix(source, tree+"/")
	})
}
