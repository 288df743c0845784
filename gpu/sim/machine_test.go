package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/gpu"
)

func TestEverySpecSaysWhichMachine(t *testing.T) {
	for spec, want := range map[string]struct {
		count  int
		model  string
		memory int64
	}{
		"8xh100": {8, "NVIDIA H100 80GB HBM3", 81559},
		"1xH100": {1, "NVIDIA H100 80GB HBM3", 81559},
		"8xa100": {8, "NVIDIA A100-SXM4-80GB", 81920},
		"8xh200": {8, "NVIDIA H200", 143771},
		"8xb200": {8, "NVIDIA B200", 183359},
		"4xl40s": {4, "NVIDIA L40S", 46068},
		"8xt4":   {8, "Tesla T4", 15360},
		"16xk80": {16, "Tesla K80", 11441},
		"1xgb10": {1, "NVIDIA GB10", 0},
	} {
		m, count, err := parse(spec)
		if err != nil || count != want.count || m.name != want.model || m.memoryMiB != want.memory {
			t.Errorf("%s is %d of %s with %d MiB, %v; want %v", spec, count, m.name, m.memoryMiB, err, want)
		}
	}
}

func TestABadSpecIsToldTheModels(t *testing.T) {
	for _, spec := range []string{"", "h100", "x", "xh100", "8x", "0xh100", "-1xh100", "9xh100", "1.5xh100", "manyxh100", "2xgb10", "8xv100", "8xh100,2xt4", "8 x h100", "8xh100+", "2xh100+2xh100", "4xh100+4xk80", "1xh100/", "1xh100/7x1g.5gb", "1xh100/8x1g.10gb", "1xt4/1x1g.10gb", "1xh100/2x4g.40gb", "1xh100/1x4g.40gb/1x3g.40gb/1x1g.10gb", "5xh100/7x1g.10gb+5xh100", "8xh100+8xh200+8xa100+8xb200+1xt4"} {
		_, err := parseMachine(spec)
		if err == nil {
			t.Errorf("%q was accepted", spec)
			continue
		}
		for _, m := range models {
			if !strings.Contains(err.Error(), m.key) {
				t.Errorf("%q: the error does not name %s: %v", spec, m.key, err)
			}
		}
	}
}

// The matrices are as `nvidia-smi topo -m` prints them, the NUMA node last.
func TestMachinesAreWiredAsTheRealOnes(t *testing.T) {
	for spec, want := range map[string]string{
		"8xh100": `
			X NV18 NV18 NV18 NV18 NV18 NV18 NV18 0
			NV18 X NV18 NV18 NV18 NV18 NV18 NV18 0
			NV18 NV18 X NV18 NV18 NV18 NV18 NV18 0
			NV18 NV18 NV18 X NV18 NV18 NV18 NV18 0
			NV18 NV18 NV18 NV18 X NV18 NV18 NV18 1
			NV18 NV18 NV18 NV18 NV18 X NV18 NV18 1
			NV18 NV18 NV18 NV18 NV18 NV18 X NV18 1
			NV18 NV18 NV18 NV18 NV18 NV18 NV18 X 1`,
		"4xa100": `
			X NV12 NV12 NV12 3
			NV12 X NV12 NV12 3
			NV12 NV12 X NV12 1
			NV12 NV12 NV12 X 1`,
		"8xl40s": `
			X PIX NODE NODE SYS SYS SYS SYS 0
			PIX X NODE NODE SYS SYS SYS SYS 0
			NODE NODE X PIX SYS SYS SYS SYS 0
			NODE NODE PIX X SYS SYS SYS SYS 0
			SYS SYS SYS SYS X PIX NODE NODE 1
			SYS SYS SYS SYS PIX X NODE NODE 1
			SYS SYS SYS SYS NODE NODE X PIX 1
			SYS SYS SYS SYS NODE NODE PIX X 1`,
		"5xt4": `
			X NODE NODE NODE SYS 0
			NODE X NODE NODE SYS 0
			NODE NODE X NODE SYS 0
			NODE NODE NODE X SYS 0
			SYS SYS SYS SYS X 1`,
		"9xk80": `
			X PIX PXB PXB PHB PHB PHB PHB SYS 0
			PIX X PXB PXB PHB PHB PHB PHB SYS 0
			PXB PXB X PIX PHB PHB PHB PHB SYS 0
			PXB PXB PIX X PHB PHB PHB PHB SYS 0
			PHB PHB PHB PHB X PIX PXB PXB SYS 0
			PHB PHB PHB PHB PIX X PXB PXB SYS 0
			PHB PHB PHB PHB PXB PXB X PIX SYS 0
			PHB PHB PHB PHB PXB PXB PIX X SYS 0
			SYS SYS SYS SYS SYS SYS SYS SYS X 1`,
		"1xgb10": `X 0`,
	} {
		m, count, err := parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := matrix(newCards([]group{{model: m, count: count}}, "seed")); got != unindent(want) {
			t.Errorf("%s is wired\n%s\nwant\n%s", spec, got, unindent(want))
		}
	}
}

func TestEveryMachineIsWhole(t *testing.T) {
	for _, m := range models {
		pci, uuids := map[string]bool{}, map[string]bool{}
		for i, d := range newCards([]group{{model: m, count: len(m.slots)}}, "seed") {
			pci[d.PCI], uuids[d.UUID] = true, true
			if d.Index != i || d.Minor != i || d.Health != gpu.Healthy || d.Model != m.name {
				t.Errorf("%s: device %d is %+v", m.key, i, d)
			}
		}
		if len(pci) != len(m.slots) || len(uuids) != len(m.slots) {
			t.Errorf("%s: %d PCI addresses and %d UUIDs for %d places", m.key, len(pci), len(uuids), len(m.slots))
		}
		if m.driver == "" || m.cuda == "" {
			t.Errorf("%s has driver %q and CUDA %q", m.key, m.driver, m.cuda)
		}
	}
}

func TestPickKnowsTheMachines(t *testing.T) {
	for spec, want := range map[string][]int{
		"8xh100": {0, 1, 2, 3},
		"8xt4":   {0, 1, 2, 3},
		"16xk80": {0, 1, 2, 3},
	} {
		m, count, err := parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		inventory := gpu.Inventory{Devices: newCards([]group{{model: m, count: count}}, "seed")}
		var got []int
		for _, uuid := range gpu.Pick(inventory.Devices, inventory.Healthy(), 4) {
			d, _ := inventory.Device(uuid)
			got = append(got, d.Index)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: four GPUs are %v, want %v", spec, got, want)
		}
	}
}

func matrix(devices []gpu.Device) string {
	var rows []string
	for _, d := range devices {
		var cells []string
		for _, peer := range devices {
			cells = append(cells, cell(d, peer))
		}
		rows = append(rows, fmt.Sprint(strings.Join(cells, " "), " ", d.NUMANode))
	}
	return strings.Join(rows, "\n")
}

func cell(d, peer gpu.Device) string {
	link, ok := d.LinkTo(peer.UUID)
	switch {
	case !ok:
		return "X"
	case link.Kind == gpu.LinkNVLink:
		return fmt.Sprintf("NV%d", link.Lanes)
	}
	return string(link.Kind)
}

func unindent(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n\t\t\t", "\n")
}

// A machine with GPUs of several models has them in the order of its words, on PCI domains of their own.
func TestAMachineHasGPUsOfSeveralModels(t *testing.T) {
	groups, err := parseMachine("2xh100+1xt4")
	if err != nil {
		t.Fatal(err)
	}
	devices := newCards(groups, "seed")
	var got []string
	for i, d := range devices {
		if d.Index != i || d.Minor != i {
			t.Errorf("device %d: %+v", i, d)
		}
		got = append(got, d.Model+" "+d.PCI+" "+d.ComputeCapability)
	}
	want := []string{"NVIDIA H100 80GB HBM3 00000000:1B:00.0 9.0", "NVIDIA H100 80GB HBM3 00000000:43:00.0 9.0", "Tesla T4 00000001:" + groups[1].slots[0].pci[9:] + " 7.5"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := matrix(devices); !strings.HasPrefix(got, "X NV18 SYS") {
		t.Errorf("wired as\n%s", got)
	}
}

func TestAMachineWithMIGDevices(t *testing.T) {
	groups, err := parseMachine("1xh100+1xh100/2x3g.40gb")
	if err != nil {
		t.Fatal(err)
	}
	cards := newCards(groups, "seed")
	var devices []gpu.Device
	for i := range cards {
		devices = append(devices, partitioned(&cards[i], partsOf(&cards[i], groupAt(groups, i).partition, ""))...)
	}
	var numbers []string
	for i := range devices {
		numbers = append(numbers, devices[i].Number())
	}
	mig := devices[1]
	if len(cards) != 2 || strings.Join(numbers, " ") != "0 1:0 1:1" || !mig.IsOf(cards[1].UUID) || mig.MemoryMiB != cards[1].MemoryMiB/2 || mig.Links != "" {
		t.Errorf("%d GPUs, devices %v, the first MIG device %+v", len(cards), numbers, mig)
	}
	nodes := deviceNodes("/dir", 240, cards, devices)
	if len(nodes.devices) != 3 || nodes.devices[1].name != "nvidia-caps/nvidia-cap1008" || len(nodes.cards) != 1 || nodes.cards[0].name != "nvidia1" {
		t.Errorf("nodes %+v", nodes)
	}
}
