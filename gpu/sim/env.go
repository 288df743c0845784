package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pinion/gpu"
)

// Environment variables that describe the simulated GPUs to a container: one for each device, named by minor so that the
// variables of several devices merge, and two for the driver. Only the simulated nvidia-smi reads them, and it ignores a
// variable whose device node is missing.
const (
	envDevice = "PINION_SIM_GPU_"   // + minor = UUID,memory in MiB,model
	envDriver = "PINION_SIM_DRIVER" // version
	envCUDA   = "PINION_SIM_CUDA"   // version
)

// toolDevice is a simulated GPU as seen from its container.
type toolDevice struct {
	minor     int
	uuid      string
	memoryMiB int64
	model     string
}

func deviceEnv(d gpu.Device) string {
	model := d.Model
	if profile := d.Profile(); profile != "" {
		model += " MIG " + profile // as NVML names it
	}
	return fmt.Sprintf("%s%d=%s,%d,%s", envDevice, d.Minor, d.UUID, d.MemoryMiB, model)
}

func driverEnv(m model) []string {
	return []string{envDriver + "=" + m.driver, envCUDA + "=" + m.cuda}
}

// readDevices returns the devices that are in the environment and have a device node, by minor.
func readDevices(environ []string, present func(minor int) bool) []toolDevice {
	var devices []toolDevice
	for _, variable := range environ {
		rest, ours := strings.CutPrefix(variable, envDevice)
		if d, ok := readDevice(rest); ours && ok && present(d.minor) {
			devices = append(devices, d)
		}
	}
	slices.SortFunc(devices, func(a, b toolDevice) int { return a.minor - b.minor })
	return devices
}

func readDevice(variable string) (toolDevice, bool) {
	name, content, _ := strings.Cut(variable, "=")
	fields := strings.SplitN(content, ",", 3)
	if len(fields) != 3 {
		return toolDevice{}, false
	}
	minor, err := strconv.Atoi(name)
	if err != nil {
		return toolDevice{}, false
	}
	memory, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return toolDevice{}, false
	}
	return toolDevice{minor: minor, uuid: fields[0], memoryMiB: memory, model: fields[2]}, true
}

// lookup returns the value of a variable, "" when it is not set.
func lookup(environ []string, name string) string {
	for _, variable := range environ {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
