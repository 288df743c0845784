package taskdef

import (
	"path"
	"slices"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
)

func checkVolumes(volumes []spec.Volume) error {
	seen := map[string]bool{}
	for i, v := range volumes {
		at := field.Index("volumes", i)
		if !resourceName.MatchString(v.Name) {
			return field.Errorf(field.Join(at, "name"), "Volume names must be 1 to 255 letters, digits, hyphens and underscores, not %q.", v.Name)
		}
		if seen[v.Name] {
			return field.Errorf(field.Join(at, "name"), "Volume names must be unique: '%s' is there twice.", v.Name)
		}
		seen[v.Name] = true
		if v.Host != nil && v.Host.SourcePath != "" && !path.IsAbs(v.Host.SourcePath) {
			return field.Errorf(field.Join(at, "host.sourcePath"), "Volume '%s': host.sourcePath must be an absolute path, not %q.", v.Name, v.Host.SourcePath)
		}
	}
	return nil
}

func checkMounts(c container, volumes []spec.Volume) error {
	for i, m := range c.MountPoints {
		at := field.Index("mountPoints", i)
		again := func(other spec.MountPoint) bool {
			return path.Clean(other.ContainerPath) == path.Clean(m.ContainerPath)
		}
		if slices.ContainsFunc(c.MountPoints[:i], again) {
			return c.errorf(field.Join(at, "containerPath"), "something is mounted at %s already: mountPoints must have different containerPaths.", m.ContainerPath)
		}
		if !slices.ContainsFunc(volumes, func(v spec.Volume) bool { return v.Name == m.SourceVolume }) {
			return c.errorf(field.Join(at, "sourceVolume"), "unknown volume '%s' in mountPoints.", m.SourceVolume)
		}
		if !path.IsAbs(m.ContainerPath) {
			return c.errorf(field.Join(at, "containerPath"), "mountPoints.containerPath must be an absolute path, not %q.", m.ContainerPath)
		}
	}
	return nil
}
