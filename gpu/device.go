// Package gpu describes the GPUs of one host (models, links, health) and gives a container access to exactly the GPUs that
// were assigned to it.
package gpu

// Health says whether a GPU may get new work.
type Health string

// States of health. Only a healthy GPU gets new work.
const (
	Healthy     Health = "HEALTHY"
	Unhealthy   Health = "UNHEALTHY"    // its state cannot be read, or it cannot be given to a container
	Suspect     Health = "SUSPECT"      // tasks have failed on it, and nobody knows yet whether it is the reason
	NeedsReset  Health = "NEEDS_RESET"  // after an error that ends with a reset of the GPU
	NeedsReboot Health = "NEEDS_REBOOT" // after one that ends with a reboot of the host
	Lost        Health = "LOST"         // the driver does not reach it any more
	Replace     Health = "REPLACE"      // it is broken
	Hung        Health = "HUNG"         // the driver does not answer about it; a source's word: its host shows it as UNHEALTHY, and later as NEEDS_REBOOT
	Quarantined Health = "QUARANTINED"  // an operator keeps it from new tasks, whatever its host says of it; the pool's word, never a host's
)

// RecoveryAction is the remedy for a GPU in this state, for people; empty when there is none.
func (h Health) RecoveryAction() string {
	switch h {
	case NeedsReset:
		return "reset it with `pinion gpus reset`, or reboot the host"
	case NeedsReboot, Lost:
		return "reboot the host; if that does not help, replace the GPU"
	case Replace:
		return "replace the GPU"
	}
	return ""
}

// Device is one physical GPU as its host sees it, or a MIG device of one that is partitioned, which is then not listed itself. The UUID
// alone identifies it: index and minor may change when the driver is reloaded. Only the host that owns the device writes these fields.
type Device struct {
	UUID      string `json:"uuid"`                // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", stable for the life of the card; "MIG-..." of a MIG device, until its GPU is partitioned anew
	Index     int    `json:"index"`               // NVML enumeration order, from 0; a MIG device has that of its GPU
	Minor     int    `json:"minor"`               // N of /dev/nvidiaN
	PCI       string `json:"pci"`                 // domain:bus:device.function, "00000000:1B:00.0"
	Model     string `json:"model"`               // marketing name, "NVIDIA H100 80GB HBM3"
	MemoryMiB int64  `json:"memoryMiB,omitempty"` // 0 when the device has no memory of its own to report (unified memory)
	NUMANode  int    `json:"numaNode"`            // CPU-side NUMA node, -1 when unknown
	Former    []MIG  `json:"mig,omitempty"`       // nobody writes it any more; what is stored once keeps its place
	Links     Links  `json:"links,omitempty"`     // how the device reaches each of its peers on this host
	Health    Health `json:"health"`
	Problem   string `json:"problem,omitempty"` // why the device is not healthy, in words for people

	ComputeCapability string `json:"computeCapability,omitempty" level:"1"` // CUDA's, "9.0"; "" when it is not known

	MIGDevice *MIGDevice `json:"migDevice,omitempty" level:"1"` // nil of a whole GPU
	EmptyMIG  bool       `json:"emptyMIG,omitempty" level:"1"`  // it is in MIG mode and has no MIG device, for which alone it is unhealthy
}

// MIG is a MIG device in Device.Former.
type MIG struct {
	UUID      string `json:"uuid"`
	Profile   string `json:"profile"`
	MemoryMiB int64  `json:"memoryMiB"`
}

// Link is the connection of a device to a peer on the same host.
type Link struct {
	Peer string   `json:"peer"` // UUID of the other device
	Kind LinkKind `json:"kind"`
	// Lanes is the number of NVLink lanes between the two, 0 for every other kind.
	Lanes int `json:"lanes,omitempty"`
}

// LinkKind is the kind of connection between two devices. The constants are ordered from the farthest to the nearest.
type LinkKind string

// The kinds of links.
const (
	LinkSystem   LinkKind = "SYS"    // across CPU sockets
	LinkNode     LinkKind = "NODE"   // one NUMA node, different host bridges
	LinkHost     LinkKind = "PHB"    // one PCIe host bridge
	LinkSwitches LinkKind = "PXB"    // several PCIe switches, no host bridge; versions before this constant report PIX
	LinkSwitch   LinkKind = "PIX"    // at most one PCIe switch, including one on a board that carries both devices
	LinkNVLink   LinkKind = "NVLINK" // direct NVLink or through NVSwitch
)

// Inventory is the state of a host's GPUs at one moment.
type Inventory struct {
	Devices   []Device `json:"devices"`
	Driver    string   `json:"driver,omitempty"` // kernel driver version, "580.159.03"
	CUDA      string   `json:"cuda,omitempty"`   // highest CUDA version the driver serves, "13.0"
	Simulated bool     `json:"simulated,omitempty"`
	// Problem says why the host cannot read its GPUs at all (driver missing, library missing, helper crashed). It is empty
	// when there is no problem, also on a host without NVIDIA hardware.
	Problem string `json:"problem,omitempty"`

	// VRAMEnforcement names the mechanism that keeps containers to their shares of a GPU's memory; empty: none.
	VRAMEnforcement string `json:"vramEnforcement,omitempty" level:"1"`

	DynamicMIG bool `json:"dynamicMIG,omitempty" level:"1"` // the pool may partition its GPUs; they are shared by nothing else then
}

// EnforcedByMPS as Inventory.VRAMEnforcement is NVIDIA's Multi-Process Service. Of a simulated machine it means that shares are
// placed and shown, and nothing is enforced.
const EnforcedByMPS = "mps"
