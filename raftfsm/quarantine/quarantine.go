// Package quarantine keeps GPUs of a host from new tasks until somebody releases them, whatever the host says of them. Tasks that have them run on.
package quarantine

import (
	"fmt"
	"slices"
	"time"

	"pinion/gpu"
)

// MaxGPUs bounds the GPUs of a host that are in quarantine, those included that have left it.
const MaxGPUs = 64

// GPU is one that is in quarantine.
type GPU struct {
	UUID    string     `json:"uuid"`
	By      string     `json:"by"` // who has put it there, for people
	At      time.Time  `json:"at"`
	Reason  string     `json:"reason,omitempty"`  // for people
	Health  gpu.Health `json:"health,omitempty"`  // what its host said last: it counts again after the release
	Problem string     `json:"problem,omitempty"` // likewise
}

// String says who keeps the GPU from tasks, since when and why, and what is wrong with it as its host says.
func (g *GPU) String() string {
	text := fmt.Sprintf("quarantined by %s since %s", g.By, g.At.UTC().Format(time.RFC3339))
	if g.Reason != "" {
		text += ": " + g.Reason
	}
	if g.Problem != "" {
		text += "; its host says: " + g.Problem
	}
	return text
}

// List is the quarantine of a host. Its methods change neither it nor the inventory that they are given.
type List []GPU

func (l List) index(uuid string) int {
	return slices.IndexFunc(l, func(g GPU) bool { return g.UUID == uuid })
}

// Has reports whether the GPU is in quarantine. It may have left the host.
func (l List) Has(uuid string) bool { return l.index(uuid) >= 0 }

// Mark shows the GPUs in quarantine as such in what the host says of its GPUs, and notes that in the list.
func (l List) Mark(said gpu.Inventory) (shown gpu.Inventory, noted List) {
	if len(l) == 0 {
		return said, l
	}
	shown, noted = said, slices.Clone(l)
	shown.Devices = slices.Clone(said.Devices)
	for i := range shown.Devices {
		d := &shown.Devices[i]
		if at := noted.index(d.UUID); at >= 0 && d.Health != gpu.Quarantined {
			noted[at].Health, noted[at].Problem = d.Health, d.Problem
			d.Health, d.Problem = gpu.Quarantined, noted[at].String()
		}
	}
	return shown, noted
}

// Release takes a GPU off the list, and shows it as its host has said last.
func (l List) Release(uuid string, inventory gpu.Inventory) (shown gpu.Inventory, left List) {
	at := l.index(uuid)
	if at < 0 {
		return inventory, l
	}
	shown = inventory
	shown.Devices = slices.Clone(inventory.Devices)
	for i := range shown.Devices {
		if d := &shown.Devices[i]; d.UUID == uuid && d.Health == gpu.Quarantined {
			d.Health, d.Problem = l[at].Health, l[at].Problem
		}
	}
	return shown, slices.Delete(slices.Clone(l), at, at+1)
}
