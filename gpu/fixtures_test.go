package gpu

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The machines are written as `nvidia-smi topo -m` prints them: one row per GPU, NV<lanes> for NVLink, the NUMA node last.

// dgx1 is the hybrid cube mesh of eight V100: no GPU reaches all others by NVLink.
const dgx1 = `
	X   NV1 NV1 NV2 NV2 SYS SYS SYS  0
	NV1 X   NV2 NV1 SYS NV2 SYS SYS  0
	NV1 NV2 X   NV2 SYS SYS NV1 SYS  0
	NV2 NV1 NV2 X   SYS SYS SYS NV1  0
	NV2 SYS SYS SYS X   NV1 NV1 NV2  1
	SYS NV2 SYS SYS NV1 X   NV2 NV1  1
	SYS SYS NV1 SYS NV1 NV2 X   NV2  1
	SYS SYS SYS NV1 NV2 NV1 NV2 X    1`

// hgxH100 has NVSwitch: all pairs alike, the sockets still matter for memory and network cards.
const hgxH100 = `
	X    NV18 NV18 NV18 NV18 NV18 NV18 NV18  0
	NV18 X    NV18 NV18 NV18 NV18 NV18 NV18  0
	NV18 NV18 X    NV18 NV18 NV18 NV18 NV18  0
	NV18 NV18 NV18 X    NV18 NV18 NV18 NV18  0
	NV18 NV18 NV18 NV18 X    NV18 NV18 NV18  1
	NV18 NV18 NV18 NV18 NV18 X    NV18 NV18  1
	NV18 NV18 NV18 NV18 NV18 NV18 X    NV18  1
	NV18 NV18 NV18 NV18 NV18 NV18 NV18 X     1`

// t4s is a PCIe server with four T4 on each of two sockets.
const t4s = `
	X    NODE NODE NODE SYS  SYS  SYS  SYS   0
	NODE X    NODE NODE SYS  SYS  SYS  SYS   0
	NODE NODE X    NODE SYS  SYS  SYS  SYS   0
	NODE NODE NODE X    SYS  SYS  SYS  SYS   0
	SYS  SYS  SYS  SYS  X    NODE NODE NODE  1
	SYS  SYS  SYS  SYS  NODE X    NODE NODE  1
	SYS  SYS  SYS  SYS  NODE NODE X    NODE  1
	SYS  SYS  SYS  SYS  NODE NODE NODE X     1`

// bridged is a PCIe server with pairs of A40 under NVLink bridges and PCIe switches.
const bridged = `
	X    NV4  PIX  PIX   0
	NV4  X    PIX  PIX   0
	PIX  PIX  X    NODE  0
	PIX  PIX  NODE X     0`

// k80s is one socket of a PCIe server: boards of two GPUs with a PCIe switch each, and a switch of the server for each two
// boards.
const k80s = `
	X   PIX PXB PXB PHB PHB PHB PHB  0
	PIX X   PXB PXB PHB PHB PHB PHB  0
	PXB PXB X   PIX PHB PHB PHB PHB  0
	PXB PXB PIX X   PHB PHB PHB PHB  0
	PHB PHB PHB PHB X   PIX PXB PXB  0
	PHB PHB PHB PHB PIX X   PXB PXB  0
	PHB PHB PHB PHB PXB PXB X   PIX  0
	PHB PHB PHB PHB PXB PXB PIX X    0`

// machine reads a fixture. UUIDs are "GPU-<index>".
func machine(t testing.TB, matrix string) []Device {
	t.Helper()
	var devices []Device
	for i, row := range strings.Split(strings.TrimSpace(matrix), "\n") {
		cells := strings.Fields(row)
		numa, err := strconv.Atoi(cells[len(cells)-1])
		if err != nil {
			t.Fatalf("row %d has no NUMA node: %v", i, err)
		}
		d := Device{UUID: name(i), Index: i, Minor: i, NUMANode: numa, Health: Healthy}
		for peer, cell := range cells[:len(cells)-1] {
			if peer != i {
				d.Links += PackLinks(readLink(t, peer, cell))
			}
		}
		devices = append(devices, d)
	}
	return devices
}

func readLink(t testing.TB, peer int, cell string) Link {
	t.Helper()
	if lanes, ok := strings.CutPrefix(cell, "NV"); ok {
		n, err := strconv.Atoi(lanes)
		if err != nil {
			t.Fatalf("link %q: %v", cell, err)
		}
		return Link{Peer: name(peer), Kind: LinkNVLink, Lanes: n}
	}
	return Link{Peer: name(peer), Kind: LinkKind(cell)}
}

func name(index int) string { return fmt.Sprintf("GPU-%02d", index) }

func names(indices ...int) []string {
	var all []string
	for _, i := range indices {
		all = append(all, name(i))
	}
	return all
}
