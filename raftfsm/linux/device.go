package linux

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Device is a device of the host that a container has.
type Device struct {
	HostPath      string   `json:"hostPath"`
	ContainerPath string   `json:"containerPath,omitempty"` // the same as HostPath when empty
	Permissions   []string `json:"permissions,omitempty"`   // of DevicePermissions; all when empty, as in Docker
}

// DevicePermissions are the permissions of a container for a device, as ECS writes them.
var DevicePermissions = []string{"read", "write", "mknod"}

// Path returns the path of the device in the container.
func (d Device) Path() string {
	if d.ContainerPath == "" {
		return d.HostPath
	}
	return d.ContainerPath
}

// Access returns the permissions of the container for the device, as the kernel's control groups write them: letters of "rwm".
func (d Device) Access() (access string) {
	for _, permission := range DevicePermissions {
		if len(d.Permissions) == 0 || slices.Contains(d.Permissions, permission) {
			access += permission[:1]
		}
	}
	return access
}

// devDir is the directory of devices.
const devDir = "/dev"

// gpuNodes begin the names of the nodes of GPUs and of what leads to them. A task gets its GPUs by resourceRequirements alone.
var gpuNodes = []string{"nvidia", "dri/", "dxg", "vfio/", "kfd"}

// rawMemory are the nodes that show the memory and the ports of the machine: who has them is root on it.
var rawMemory = []string{"mem", "kmem", "port"}

// CheckDevice returns an error when a path of the host can be no device of a container, whatever the host allows; nil when it can. It looks at the path
// alone: what the path leads to is seen on the host.
func CheckDevice(given string) error {
	name, inDev := strings.CutPrefix(given, devDir+"/")
	switch {
	case !inDev || path.Clean(given) != given || strings.Contains(given, "\x00") || len(given) > 255:
		return fmt.Errorf("%.300q is not the path of a device, such as /dev/fuse", given)
	case slices.Contains(rawMemory, name):
		return fmt.Errorf("%s is the memory of the machine: who has it is root there", given)
	}
	for _, node := range gpuNodes {
		if strings.HasPrefix(name+"/", node) {
			return fmt.Errorf("%s leads to GPUs: a task gets its own by resourceRequirements alone", given)
		}
	}
	return nil
}

// AllowsDevice reports whether the paths that `pinion up --device` names allow the device: one of them is it, or a directory that it is in.
func AllowsDevice(allowed []string, device string) bool {
	return CheckDevice(device) == nil && slices.ContainsFunc(allowed, func(a string) bool {
		return CheckDevice(a) == nil && (device == a || strings.HasPrefix(device, a+"/"))
	})
}

// DeviceRefusal returns the reason why a host whose operator allows those devices gives the container none of that path; empty when it does.
func DeviceRefusal(allowed []string, container, device, hostName string) string {
	if AllowsDevice(allowed, device) {
		return ""
	}
	return fmt.Sprintf("container %s has the device %s, which host %s does not give to tasks: start the host with pinion up --device %s, or remove it", container, device, hostName, device)
}
