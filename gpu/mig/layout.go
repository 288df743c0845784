package mig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Instance is a MIG device of a GPU: what it is, and where.
type Instance struct {
	Profile string `json:"profile"` // its name
	Start   int    `json:"start"`   // its first slice of memory
}

// String is for people: "1g.10gb at 6".
func (i Instance) String() string { return fmt.Sprintf("%s at %d", i.Profile, i.Start) }

// Layout is the MIG devices of one GPU, by Start. Its methods do not change it. Empty: the GPU is whole.
type Layout []Instance

// String is for people.
func (l Layout) String() string {
	if len(l) == 0 {
		return "a whole GPU"
	}
	all := make([]string, len(l))
	for i := range l {
		all[i] = l[i].String()
	}
	return strings.Join(all, ", ")
}

// With is the layout with one more.
func (l Layout) With(more Instance) Layout { return sorted(append(slices.Clone(l), more)) }

// Without is the layout without those for which drop holds.
func (l Layout) Without(drop func(Instance) bool) Layout {
	return slices.DeleteFunc(slices.Clone(l), drop)
}

// Sorted is the layout in its order.
func Sorted(l Layout) Layout { return sorted(slices.Clone(l)) }

func sorted(l Layout) Layout {
	slices.SortFunc(l, func(a, b Instance) int { return cmp.Or(a.Start-b.Start, cmp.Compare(a.Profile, b.Profile)) })
	return l
}

// Check validates the layout on a GPU of the model; its error says what is wrong.
func (l Layout) Check(model string) error {
	profiles := Profiles(model)
	if profiles == nil {
		return fmt.Errorf("%s has no MIG that Pinion knows", model)
	}
	var before Layout
	for _, i := range l {
		p := find(profiles, i.Profile)
		if p == nil {
			return fmt.Errorf("%s has no MIG profile %s: it has %s", model, i.Profile, Names(profiles))
		}
		if !slices.Contains(p.starts, i.Start) || !before.admits(profiles, p, i.Start) {
			return fmt.Errorf("there is no place for %s beside %s on %s", i, before, model)
		}
		before = before.With(i)
	}
	return nil
}

// Names lists the names of profiles for people.
func Names(profiles []Profile) string {
	names := make([]string, len(profiles))
	for i := range profiles {
		names[i] = profiles[i].Name
	}
	return strings.Join(names, ", ")
}

// admits reports whether there are slices for one more at the start. An unknown profile takes the whole GPU.
func (l Layout) admits(profiles []Profile, p *Profile, start int) bool {
	compute, used := 0, uint16(0)
	for _, i := range l {
		own := find(profiles, i.Profile)
		if own == nil {
			return false
		}
		compute, used = compute+own.compute, used|mask(own, i.Start)
	}
	return compute+p.compute <= computeSlices && used&mask(p, start) == 0
}

func mask(p *Profile, start int) uint16 { return uint16(1<<p.memory-1) << start }

// Add puts one of the profile where it leaves the most for others; false: there is no place, or the model does not have the profile.
func (l Layout) Add(model, profile string) (added Instance, ok bool) {
	profiles := Profiles(model)
	p := find(profiles, profile)
	if p == nil {
		return added, false
	}
	most := -1
	for _, start := range p.starts {
		if !l.admits(profiles, p, start) {
			continue
		}
		if left := l.With(Instance{profile, start}).placements(profiles); left > most {
			added, most = Instance{profile, start}, left
		}
	}
	return added, most >= 0
}

// placements values the free slices: the places for one of each profile, each with its memory.
func (l Layout) placements(profiles []Profile) (sum int) {
	for i := range profiles {
		p := &profiles[i]
		for _, start := range p.starts {
			if l.admits(profiles, p, start) {
				sum += p.memory
			}
		}
	}
	return sum
}

// Arrange finds places for MIG devices of the profiles, in any order; false: there are none for all together.
func Arrange(model string, names []string) (l Layout, ok bool) {
	profiles := Profiles(model)
	wanted := make([]*Profile, len(names))
	for i, name := range names {
		if wanted[i] = find(profiles, name); wanted[i] == nil {
			return nil, false
		}
	}
	slices.SortStableFunc(wanted, func(a, b *Profile) int { return cmp.Or(b.memory-a.memory, b.compute-a.compute) })
	return arrange(profiles, nil, wanted)
}

func arrange(profiles []Profile, l Layout, wanted []*Profile) (Layout, bool) {
	if len(wanted) == 0 {
		return l, true
	}
	for _, start := range wanted[0].starts {
		if l.admits(profiles, wanted[0], start) {
			if all, ok := arrange(profiles, l.With(Instance{wanted[0].Name, start}), wanted[1:]); ok {
				return all, true
			}
		}
	}
	return nil, false
}
