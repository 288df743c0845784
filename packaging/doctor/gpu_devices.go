package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sysfsAttribute is the text of a file of a PCI device, without the end of its line.
func sysfsAttribute(device, name string) string {
	text, _ := os.ReadFile(filepath.Join(device, name))
	return strings.TrimSpace(string(text))
}

// checkGPUDevices compares the GPUs on the PCI bus with those that the driver has taken, and looks for the device files that CUDA opens.
func checkGPUDevices(_ context.Context, h *Host) []Finding {
	m := &h.Machine
	onBus := len(m.pciDevices(gpuClass))
	if onBus == 0 || m.read("proc/driver/nvidia/version") == "" {
		return []Finding{ok("no GPU, or no driver is loaded")}
	}
	var all []Finding
	if taken := len(m.glob("proc/driver/nvidia/gpus/*")); taken < onBus {
		all = append(all, failed(fmt.Sprintf("%d GPUs are on the PCI bus, and the driver has %d of them", onBus, taken),
			"`dmesg | grep -i nvrm` says why: one that fell off the bus needs a reboot, one without power or of another driver branch what it asks for there"))
	}
	for _, file := range []string{"dev/nvidiactl", "dev/nvidia-uvm"} {
		if !m.exists(file) {
			all = append(all, failed("/"+file+" is missing, and CUDA does not start without it", "`nvidia-modprobe -u -c 0` makes it; nvidia-persistenced does at each boot").fixedBy("nvidia-modprobe", "-u", "-c", "0"))
		}
	}
	if len(all) == 0 {
		all = append(all, ok(fmt.Sprintf("the driver has every GPU (%d), and the device files are there", onBus)))
	}
	return all
}

// checkGPULinks looks for GPUs with fewer PCIe lanes than they can use, and for an IOMMU between GPUs that talk to each other over PCIe. The speed of a
// link says nothing: drivers lower it while a GPU is idle.
func checkGPULinks(_ context.Context, h *Host) []Finding {
	m := &h.Machine
	devices := m.pciDevices(gpuClass)
	if len(devices) == 0 {
		return []Finding{ok("this machine has no NVIDIA GPU")}
	}
	var all []Finding
	translated := 0
	for _, device := range devices {
		if now, most := sysfsAttribute(device, "current_link_width"), sysfsAttribute(device, "max_link_width"); now != "" && now != "0" && now != most {
			all = append(all, warning(fmt.Sprintf("the GPU at %s has %s PCIe lanes of %s: copies to and from it take longer", filepath.Base(device), now, most),
				"seat the card and its riser anew, and see whether the slot has as many lanes"))
		}
		if strings.HasPrefix(sysfsAttribute(device, "iommu_group/type"), "DMA") {
			translated++
		}
	}
	if translated > 1 && len(m.pciDevices(switchClass)) == 0 {
		all = append(all, warning(fmt.Sprintf("the IOMMU translates the addresses of %d GPUs: what they send each other over PCIe takes the way through the CPU, or hangs", translated),
			"boot with iommu=pt, and turn off ACS in the BIOS, unless virtual machines need them"))
	}
	if len(all) == 0 {
		all = append(all, ok("every GPU has all of its PCIe lanes"))
	}
	return all
}
