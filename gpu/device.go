// Package gpu describes the GPUs of one host: what they are, how they are wired, whether they are well, and how a
// container is given exactly some of them.
package gpu

// Health says whether new work may be given to a GPU.
type Health string

// There is nothing between: a device that cannot be judged is unhealthy.
const (
	Healthy   Health = "HEALTHY"
	Unhealthy Health = "UNHEALTHY"
)

// Device is one physical GPU as its host sees it. A device is known by UUID alone: index and minor may change when
// the driver is reloaded. Only the host that owns the device writes these fields.
type Device struct {
	UUID      string `json:"uuid"`                // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", stable for the life of the card
	Index     int    `json:"index"`               // NVML enumeration order, from 0
	Minor     int    `json:"minor"`               // N of /dev/nvidiaN
	PCI       string `json:"pci"`                 // domain:bus:device.function, "00000000:1B:00.0"
	Model     string `json:"model"`               // marketing name, "NVIDIA H100 80GB HBM3"
	MemoryMiB int64  `json:"memoryMiB,omitempty"` // 0 when the device has no memory of its own to report (unified memory)
	NUMANode  int    `json:"numaNode"`            // CPU-side NUMA node, -1 when unknown
	MIG       []MIG  `json:"mig,omitempty"`       // slices of a partitioned device; empty when MIG is off
	Links     []Link `json:"links,omitempty"`     // how the device reaches each of its peers on this host
	Health    Health `json:"health"`
	Problem   string `json:"problem,omitempty"` // why the device is not healthy, in words for people
}

// MIG is one slice of a partitioned GPU.
type MIG struct {
	UUID      string `json:"uuid"`    // "MIG-..."
	Profile   string `json:"profile"` // "1g.10gb"
	MemoryMiB int64  `json:"memoryMiB"`
}

// Link tells how a device reaches a peer of the same host.
type Link struct {
	Peer string   `json:"peer"` // UUID of the other device
	Kind LinkKind `json:"kind"`
	// Lanes is the number of NVLink lanes between the two, 0 for every other kind.
	Lanes int `json:"lanes,omitempty"`
}

// LinkKind orders the ways two devices can be wired, from the farthest to the nearest.
type LinkKind string

// The kinds of links.
const (
	LinkSystem   LinkKind = "SYS"    // across CPU sockets
	LinkNode     LinkKind = "NODE"   // one NUMA node, different host bridges
	LinkHost     LinkKind = "PHB"    // one PCIe host bridge
	LinkSwitches LinkKind = "PXB"    // several PCIe switches, no host bridge; inventories of before this kind say PIX
	LinkSwitch   LinkKind = "PIX"    // one PCIe switch at most, also one on the board that both are on
	LinkNVLink   LinkKind = "NVLINK" // direct NVLink or through NVSwitch
)

// Inventory is everything a host knows about its GPUs at one moment.
type Inventory struct {
	Devices   []Device `json:"devices"`
	Driver    string   `json:"driver,omitempty"` // kernel driver version, "580.159.03"
	CUDA      string   `json:"cuda,omitempty"`   // highest CUDA version the driver serves, "13.0"
	Simulated bool     `json:"simulated,omitempty"`
	// Problem says why GPUs cannot be seen at all (driver missing, library missing, helper crashed); empty when all
	// is well, also on a host that simply has no NVIDIA hardware.
	Problem string `json:"problem,omitempty"`
}
