package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
)

// maxProfileCount bounds how often a spec names a profile: no GPU has more MIG devices.
const maxProfileCount = 7

// parsePartition reads "1x3g.40gb/4x1g.10gb": the MIG devices of each GPU of a model.
func parsePartition(text string, m model) (mig.Layout, error) {
	known := mig.Profiles(m.name)
	if known == nil {
		return nil, fmt.Errorf("%s has no MIG", m.key)
	}
	var names []string
	for part := range strings.SplitSeq(text, "/") {
		number, name, _ := strings.Cut(part, "x")
		count, err := strconv.Atoi(number)
		if err != nil || count < 1 || count > maxProfileCount {
			return nil, fmt.Errorf("%q is not like 7x%s", part, known[len(known)-1].Name)
		}
		for range count {
			names = append(names, name)
		}
	}
	layout, ok := mig.Arrange(m.name, names)
	if !ok {
		return nil, fmt.Errorf("the driver has no places for %s on one %s, whose profiles are %s", text, m.key, mig.Names(known))
	}
	return layout, nil
}

// part is a MIG device of a simulated GPU.
type part struct {
	mig.Instance
	UUID string `json:"uuid"`
}

// partsOf are the MIG devices of a layout, each with a UUID of its own: another one each time that it is made, as the driver does.
func partsOf(card *gpu.Device, layout mig.Layout, made string) (parts []part) {
	for _, i := range layout {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s", card.UUID, i, made))
		parts = append(parts, part{i, fmt.Sprintf("MIG-%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])})
	}
	return parts
}

// partitioned are the devices of a GPU with these MIG devices: itself when it has none.
func partitioned(card *gpu.Device, parts []part) (devices []gpu.Device) {
	if len(parts) == 0 {
		return []gpu.Device{*card}
	}
	memory := map[string]int64{}
	for _, p := range mig.Profiles(card.Model) {
		memory[p.Name] = p.MemoryMiB(card.MemoryMiB)
	}
	for i, p := range parts {
		d := *card
		d.UUID, d.Minor, d.MemoryMiB, d.Links = p.UUID, capability(card.Index, p.Start), memory[p.Profile], ""
		d.MIGDevice = &gpu.MIGDevice{Parent: card.UUID, ParentMemoryMiB: card.MemoryMiB, Index: i, Profile: p.Profile, Start: p.Start}
		devices = append(devices, d)
	}
	return devices
}

// Partition is of gpu.Partitioner.
func (s *source) Partition(_ context.Context, uuid string, layout mig.Layout) error {
	i := slices.IndexFunc(s.cards, func(card gpu.Device) bool { return card.UUID == uuid })
	if i < 0 {
		return fmt.Errorf("this host has no simulated GPU %s", uuid)
	}
	card := &s.cards[i]
	if err := layout.Check(card.Model); err != nil {
		return err
	}
	s.partitioning.Lock()
	defer s.partitioning.Unlock()
	before, err := s.parts(i)
	if err != nil {
		return err
	}
	parts := partsOf(card, layout, time.Now().UTC().String())
	for n := range parts {
		if at := slices.IndexFunc(before, func(old part) bool { return old.Instance == parts[n].Instance }); at >= 0 {
			parts[n] = before[at]
		}
	}
	if err := s.writeParts(uuid, parts); err != nil {
		return err
	}
	return s.assemble()
}

func (s *source) partsPath(uuid string) string { return filepath.Join(s.Dir, "partition", uuid) }

// parts are the MIG devices of the GPU at index i: as Partition has made them last, or as the spec says.
func (s *source) parts(i int) (parts []part, err error) {
	content, err := os.ReadFile(s.partsPath(s.cards[i].UUID))
	if errors.Is(err, fs.ErrNotExist) {
		return partsOf(&s.cards[i], groupAt(s.groups, i).partition, ""), nil
	}
	if err == nil {
		err = json.Unmarshal(content, &parts)
	}
	if err != nil {
		return nil, fmt.Errorf("MIG devices of a simulated GPU: %w", err)
	}
	return parts, nil
}

func (s *source) writeParts(uuid string, parts []part) error {
	content, err := json.Marshal(parts)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.partsPath(uuid)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(s.partsPath(uuid), content, 0o644)
	}
	if err != nil {
		return fmt.Errorf("MIG devices of a simulated GPU: %w", err)
	}
	return nil
}

// groupAt is the group of the GPU at index i.
func groupAt(groups []group, i int) *group {
	at := 0
	for i >= groups[at].count {
		i -= groups[at].count
		at++
	}
	return &groups[at]
}
