package doctor

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pciDevices are the directories of NVIDIA's devices with a class that begins so: 0x03 are GPUs, 0x0680 NVSwitches.
func (m *Machine) pciDevices(class string) (all []string) {
	for _, device := range m.glob("sys/bus/pci/devices/*") {
		if strings.HasPrefix(sysfsAttribute(device, "vendor"), "0x10de") && strings.HasPrefix(sysfsAttribute(device, "class"), class) {
			all = append(all, device)
		}
	}
	return all
}

const (
	gpuClass    = "0x03"
	switchClass = "0x0680"
)

// nvmlPaths are the paths of the driver's library in distributions.
var nvmlPaths = []string{
	"usr/lib/*-linux-gnu/libnvidia-ml.so.1", "usr/lib64/libnvidia-ml.so.1", "usr/lib/libnvidia-ml.so.1", "usr/lib/wsl/lib/libnvidia-ml.so.1",
	"run/nvidia/driver/usr/lib/*-linux-gnu/libnvidia-ml.so.1",
}

var driverVersion = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

func checkDriver(_ context.Context, h *Host) []Finding {
	m := &h.Machine
	text := m.read("proc/driver/nvidia/version")
	switch {
	case text == "" && len(m.pciDevices(gpuClass)) == 0:
		return []Finding{ok("this machine has no NVIDIA GPU: it runs tasks without")}
	case text == "" && m.exists("sys/module/nouveau"):
		return []Finding{failed("this machine has NVIDIA GPUs, and the driver nouveau holds them", "install NVIDIA's driver, which disables nouveau, and reboot")}
	case text == "":
		return []Finding{failed("this machine has NVIDIA GPUs, and no driver of NVIDIA is loaded", "install the driver (and the headers of this kernel), then `modprobe nvidia`; `dmesg` says why a module does not load").fixedBy("modprobe", "nvidia")}
	}
	version := driverVersion.FindString(text)
	for _, path := range nvmlPaths {
		if len(m.glob(path)) == 0 {
			continue
		}
		if other := m.otherLibrary(path, version); other != "" {
			return []Finding{failed("driver "+version+" is loaded, and its library is of "+other+": it was upgraded. Tasks that run go on, new ones get no GPU",
				"drain the host, end what uses GPUs, and `rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia`, or reboot")}
		}
		return []Finding{ok("driver " + version + ", NVML found")}
	}
	return []Finding{failed("driver "+version+" is loaded, and its library libnvidia-ml.so.1 is not found", "install the driver's libraries of the same version (libnvidia-compute, nvidia-driver-libs)")}
}

// otherLibrary is the version of the library beside the link at path, when it is another one than that of the driver. "" when it is not known.
func (m *Machine) otherLibrary(path, version string) (other string) {
	for _, file := range m.glob(strings.TrimSuffix(path, "1") + "[0-9]*.*") {
		_, other, _ = strings.Cut(filepath.Base(file), ".so.")
		if other == version {
			return ""
		}
	}
	return other
}

func checkFabric(_ context.Context, h *Host) []Finding {
	m := &h.Machine
	switch {
	case len(m.pciDevices(switchClass)) == 0:
		return []Finding{ok("this machine has no NVSwitch")}
	case !m.hasProcess("nv-fabricmanager"):
		return []Finding{failed("this machine has NVSwitches, and the Fabric Manager does not run: CUDA does not start on its GPUs", "install nvidia-fabricmanager of the driver's version, and `systemctl enable --now nvidia-fabricmanager`").fixedBy("systemctl", "enable", "--now", "nvidia-fabricmanager")}
	}
	return []Finding{ok("the Fabric Manager runs")}
}

func checkPersistence(ctx context.Context, h *Host) []Finding {
	m := &h.Machine
	if m.read("proc/driver/nvidia/version") == "" {
		return []Finding{ok("no driver is loaded")}
	}
	modes, err := m.Persistence(ctx)
	if err == nil && !strings.Contains(modes, "Disabled") || err != nil && m.hasProcess("nvidia-persistenced") {
		return []Finding{ok("on")}
	}
	return []Finding{warning("persistence mode is off: the driver lets go of a GPU that nothing uses, and each first task waits for it", "`systemctl enable --now nvidia-persistenced`, or `nvidia-smi -pm 1`").fixedBy("nvidia-smi", "-pm", "1")}
}

// mpsPaths are the paths in distributions of the control daemon of NVIDIA's Multi-Process Service.
var mpsPaths = []string{"usr/bin/nvidia-cuda-mps-control", "usr/local/bin/nvidia-cuda-mps-control", "usr/local/nvidia/bin/nvidia-cuda-mps-control", "usr/sbin/nvidia-cuda-mps-control"}

// lastWithoutMultiuser is the newest series of the driver whose control daemon is known not to have -multiuser-server, which Pinion needs.
const lastWithoutMultiuser = 550

// checkSharing looks at what tasks need to share GPUs. A host that lacks it runs tasks with whole GPUs.
func checkSharing(_ context.Context, h *Host) []Finding {
	m := &h.Machine
	version := driverVersion.FindString(m.read("proc/driver/nvidia/version"))
	series, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(series)
	switch {
	case m.exists("tmp/nvidia-mps/control"):
		return []Finding{warning("a control daemon of MPS runs that is not Pinion's: a GPU that its server has open is never given to a task", "end it: echo quit | nvidia-cuda-mps-control. With `pinion up --gpus auto,mps` Pinion runs its own")}
	case err != nil:
		return []Finding{ok("no driver is loaded")}
	case number <= lastWithoutMultiuser:
		return []Finding{ok("tasks cannot share GPUs here (pinion up --gpus auto,mps): the MPS of driver " + version + " serves one user only")}
	case !slices.ContainsFunc(mpsPaths, m.exists):
		return []Finding{ok("tasks cannot share GPUs here (pinion up --gpus auto,mps): the driver is installed without nvidia-cuda-mps-control")}
	}
	return []Finding{ok("tasks can share GPUs: pinion up --gpus auto,mps")}
}
