// Package mig knows how NVIDIA's Multi-Instance GPU cuts a GPU into MIG devices: the profiles of each model, and the places at which the driver puts
// them. It imports no other package of Pinion.
package mig

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Slices of a GPU that has MIG, which the driver numbers from 0.
const (
	computeSlices = 7 // of multiprocessors
	memorySlices  = 8
)

// Profile is a size of MIG devices, after NVIDIA's guide to MIG.
type Profile struct {
	Name    string // "1g.10gb": slices of multiprocessors, and memory
	compute int    // slices of multiprocessors
	memory  int    // slices of memory
	starts  []int  // slices of memory at which the driver puts one
}

// MemoryMiB is the memory of a MIG device of a GPU with so much. Of a real one it is some percent less.
func (p *Profile) MemoryMiB(card int64) int64 { return card * int64(p.memory) / memorySlices }

// sizes are the memory sizes in NVIDIA's names of profiles: of one slice of memory, two, four and all.
type sizes [4]int

// models are the GPUs that have MIG, by words of their name. Their profiles are made when they are asked for first.
var models = []struct {
	words    []string
	profiles func() []Profile
}{
	{[]string{"A100", "40GB"}, sync.OnceValue(sizes{5, 10, 20, 40}.profiles)},
	{[]string{"A100"}, sync.OnceValue(sizes{10, 20, 40, 80}.profiles)},
	{[]string{"H100", "NVL"}, sync.OnceValue(sizes{12, 24, 47, 94}.profiles)},
	{[]string{"H100"}, sync.OnceValue(sizes{10, 20, 40, 80}.profiles)},
	{[]string{"H200"}, sync.OnceValue(sizes{18, 35, 71, 141}.profiles)},
	{[]string{"B200"}, sync.OnceValue(sizes{23, 45, 90, 180}.profiles)},
}

// Profiles are the MIG profiles of a model of GPUs, "NVIDIA H100 80GB HBM3", the largest first; nil: it has none, or it is not known. Nobody may change them.
func Profiles(model string) []Profile {
	words := strings.FieldsFunc(model, func(r rune) bool { return r == ' ' || r == '-' })
	for _, m := range models {
		if !slices.ContainsFunc(m.words, func(word string) bool { return !slices.Contains(words, word) }) {
			return m.profiles()
		}
	}
	return nil
}

func (s sizes) profiles() []Profile {
	return []Profile{
		{fmt.Sprintf("7g.%dgb", s[3]), 7, 8, []int{0}},
		{fmt.Sprintf("4g.%dgb", s[2]), 4, 4, []int{0}},
		{fmt.Sprintf("3g.%dgb", s[2]), 3, 4, []int{0, 4}},
		{fmt.Sprintf("2g.%dgb", s[1]), 2, 2, []int{0, 2, 4}},
		{fmt.Sprintf("1g.%dgb", s[1]), 1, 2, []int{0, 2, 4, 6}},
		{fmt.Sprintf("1g.%dgb", s[0]), 1, 1, []int{0, 1, 2, 3, 4, 5, 6}},
	}
}

// find is the profile with the name.
func find(profiles []Profile, name string) *Profile {
	at := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &profiles[at]
}
