package nvml

import (
	"os"
	"path/filepath"
	"strings"
)

// driverFiles are paths that exist when an NVIDIA driver is installed: its files in /proc and /dev, the file of Jetson
// boards, and the library that Windows shares with WSL.
var driverFiles = []string{
	"proc/driver/nvidia/version",
	"dev/nvidiactl",
	"sys/module/nvgpu",
	"usr/lib/wsl/lib/libnvidia-ml.so.1",
}

// hasHardware reports whether the host has an NVIDIA GPU, or had one when its driver was loaded. A host without either
// needs no driver, so no helper is started and a missing driver is not a problem.
func hasHardware(root string) bool {
	for _, trace := range driverFiles {
		if _, err := os.Stat(filepath.Join(root, trace)); err == nil {
			return true
		}
	}
	devices, _ := filepath.Glob(filepath.Join(root, "sys/bus/pci/devices/*"))
	for _, device := range devices {
		// PCI class 0x03 is displays; it includes the 3D controllers of data centres.
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
