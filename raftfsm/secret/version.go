package secret

import (
	"fmt"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/valuefrom"
)

// Resolve finds what a reference of a task of a team in a cluster means. What is for others is as if it were not there. Errors say what is missing, and
// wrap spec.ErrNotFound or spec.ErrInactive.
func Resolve(r table.Reader, ref valuefrom.Reference, cluster, team string) (*Secret, *Version, error) {
	var found *Secret
	for _, store := range []valuefrom.Store{valuefrom.ParameterStore, valuefrom.SecretsManager} {
		if found != nil || ref.Store != store && ref.Store != valuefrom.AnyStore {
			continue
		}
		if found = Find(r, store, ref.Name); found != nil && !found.IsFor(cluster, team) {
			found = nil
		}
	}
	if found == nil {
		if team != "" {
			team = " and team " + team
		}
		return nil, nil, fmt.Errorf("%v: %w: the pool has none of that name for cluster %s%s", ref, spec.ErrNotFound, cluster, team)
	}
	if err := ReadOnly(found); err != nil {
		return nil, nil, err
	}
	version := found.Version(ref)
	if version == nil {
		return nil, nil, fmt.Errorf("%v: %w: it has no such version", ref, spec.ErrNotFound)
	}
	return found, version, nil
}

// Version is the version that a reference means; nil when there is none.
func (s *Secret) Version(ref valuefrom.Reference) *Version {
	if s.Store == valuefrom.ParameterStore {
		if number, is := ref.Number(); is {
			return s.find(func(v *Version) bool { return v.Number == number })
		}
		if ref.Version == "" {
			return s.find(func(*Version) bool { return true })
		}
		return s.Staged(ref.Version)
	}
	stage := ref.Stage
	if stage == "" && ref.Version == "" {
		stage = Current
	}
	return s.find(func(v *Version) bool {
		return (ref.Version == "" || v.ID == ref.Version) && (stage == "" || slices.Contains(v.Stages, stage))
	})
}

// Staged is the version with a stage or a label; nil when none has it.
func (s *Secret) Staged(stage string) *Version {
	return s.find(func(v *Version) bool { return slices.Contains(v.Stages, stage) })
}

// find is the newest version that fits.
func (s *Secret) find(fits func(*Version) bool) *Version {
	for i := range slices.Backward(s.Versions) {
		if fits(&s.Versions[i]) {
			return &s.Versions[i]
		}
	}
	return nil
}

// With is the secret with one more version. Its stages are taken from the versions that have them; the one that was AWSCURRENT becomes
// AWSPREVIOUS. Old versions without a stage go beyond MaxVersions and MaxVersionBytes. spec.ErrLimit when that is not enough.
func (s *Secret) With(v Version) (*Secret, error) {
	changed := s.clone()
	stages := v.Stages
	v.Stages = nil
	changed.Versions = append(changed.Versions, v)
	for _, stage := range stages {
		changed.MoveStage(stage, v.ID, v.Number)
	}
	for len(changed.Versions) > MaxVersions || changed.bytes() > MaxVersionBytes {
		old := slices.IndexFunc(changed.Versions[:len(changed.Versions)-1], func(v Version) bool { return len(v.Stages) == 0 })
		if old < 0 {
			return nil, fmt.Errorf("%w: %s %s keeps %d versions, %d KiB in all, and each of them has a stage or a label", spec.ErrLimit, s.Kind(), s.Name, MaxVersions, MaxVersionBytes>>10)
		}
		changed.Versions = slices.Delete(changed.Versions, old, old+1)
	}
	return changed, nil
}

// MoveStage gives a stage to the version of an id or a number, and takes it from all others: only to a Secret that With or Clone made. AWSCURRENT
// leaves AWSPREVIOUS behind. With neither an id nor a number no version has the stage.
func (s *Secret) MoveStage(stage, id string, number int64) {
	var former *Version
	for i := range s.Versions {
		v := &s.Versions[i]
		has, wanted := slices.Contains(v.Stages, stage), (id != "" || number != 0) && v.ID == id && v.Number == number
		switch {
		case has && !wanted:
			v.Stages = slices.DeleteFunc(slices.Clone(v.Stages), func(other string) bool { return other == stage })
			former = v
		case wanted && !has:
			v.Stages = append(slices.Clone(v.Stages), stage)
		}
	}
	if stage == Current && former != nil {
		s.MoveStage(Previous, former.ID, former.Number)
	}
}

// Clone is a copy that may be changed, its versions too but for what they point to.
func (s *Secret) Clone() *Secret { return s.clone() }

func (s *Secret) clone() *Secret {
	changed := *s
	changed.Versions = slices.Clone(s.Versions)
	return &changed
}
