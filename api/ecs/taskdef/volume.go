package taskdef

import (
	"path"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

// maxPath is the kernel's limit for a path, in bytes.
const maxPath = 4095

// validPath accepts an absolute path that the kernel takes.
func validPath(given string) bool {
	return path.IsAbs(given) && len(given) <= maxPath && !strings.Contains(given, "\x00")
}

// validSourcePath accepts an absolute path, and the name of a directory of the host with a path below it. Which hosts have it is
// decided at placement.
func validSourcePath(given string) bool {
	name, _, _ := strings.Cut(given, "/")
	if volumeroot.ValidName(name) && !slices.Contains(strings.Split(given, "/"), "..") {
		given = "/" + given
	}
	return validPath(given)
}

func checkVolumes(volumes []spec.Volume) error {
	seen := map[string]bool{}
	for i, v := range volumes {
		at := field.Index("volumes", i)
		if !spec.ValidName(v.Name) {
			return field.Errorf(field.Join(at, "name"), "Volume names must be 1 to 255 letters, digits, hyphens and underscores, not %q.", v.Name)
		}
		if seen[v.Name] {
			return field.Errorf(field.Join(at, "name"), "Volume names must be unique: '%s' is there twice.", v.Name)
		}
		seen[v.Name] = true
		if err := checkDocker(v, field.Join(at, "dockerVolumeConfiguration")); err != nil {
			return err
		}
		if err := checkEFS(v, field.Join(at, "efsVolumeConfiguration")); err != nil {
			return err
		}
		if v.Host != nil && v.Host.SourcePath != "" && !validSourcePath(v.Host.SourcePath) {
			return field.Errorf(field.Join(at, "host.sourcePath"),
				"Volume '%s': host.sourcePath must be an absolute path, or the name of a directory that hosts give to tasks (pinion up --volume NAME=DIR) with a path below it, such as %s/cache, not %.300q.",
				v.Name, volumeroot.Local, v.Host.SourcePath)
		}
	}
	return nil
}

// checkDocker checks a volume's dockerVolumeConfiguration.
func checkDocker(v spec.Volume, at string) error {
	if v.Docker == nil {
		return nil
	}
	if v.Host != nil && v.Host.SourcePath != "" {
		return field.Errorf(at, "Volume '%s' has host.sourcePath and dockerVolumeConfiguration: it is one of them.", v.Name)
	}
	if member, why := v.Docker.Problem(); member != "" {
		return field.Errorf(field.Join(at, member), "Volume '%s': %s: %s.", v.Name, field.Join(at, member), why)
	}
	return nil
}

// checkEFS checks a volume's efsVolumeConfiguration.
func checkEFS(v spec.Volume, at string) error {
	if v.EFS == nil {
		return nil
	}
	if v.Docker != nil || v.Host != nil && v.Host.SourcePath != "" {
		return field.Errorf(at, "Volume '%s' has efsVolumeConfiguration beside host.sourcePath or dockerVolumeConfiguration: it is one of them.", v.Name)
	}
	if member, why := v.EFS.Problem(); member != "" {
		return field.Errorf(field.Join(at, member), "Volume '%s': %s: %s.", v.Name, field.Join(at, member), why)
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
		if !validPath(m.ContainerPath) {
			return c.errorf(field.Join(at, "containerPath"), "mountPoints.containerPath must be an absolute path of at most %d bytes, not %.300q.", maxPath, m.ContainerPath)
		}
	}
	return nil
}
