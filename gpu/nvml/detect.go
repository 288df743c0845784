package nvml

import (
	"os"
	"path/filepath"
	"strings"
)

// driverFiles are what an NVIDIA driver leaves: its files in /proc and /dev, the one of Jetson boards, and the library that
// Windows lends to its Linux subsystem.
var driverFiles = []string{
	"proc/driver/nvidia/version",
	"dev/nvidiactl",
	"sys/module/nvgpu",
	"usr/lib/wsl/lib/libnvidia-ml.so.1",
}

// hasHardware says that the host has an NVIDIA GPU, or had one when its driver was loaded. Without either, a missing driver
// is no problem and there is nobody to ask.
func hasHardware(root string) bool {
	for _, trace := range driverFiles {
		if _, err := os.Stat(filepath.Join(root, trace)); err == nil {
			return true
		}
	}
	devices, _ := filepath.Glob(filepath.Join(root, "sys/bus/pci/devices/*"))
	for _, device := range devices {
		// Class 0x03 is displays, which includes the 3D controllers of data centres.
		if hasPrefix(device, "vendor", "0x10de") && hasPrefix(device, "class", "0x03") {
			return true
		}
	}
	return false
}

func hasPrefix(device, attribute, prefix string) bool {
	text, err := os.ReadFile(filepath.Join(device, attribute))
	return err == nil && strings.HasPrefix(string(text), prefix)
}
