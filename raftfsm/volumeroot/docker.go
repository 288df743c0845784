package volumeroot

import (
	"fmt"
	"slices"
)

// Scopes of Docker volumes, ECS's.
const (
	ScopeTask   = "task"   // it ends with its task
	ScopeShared = "shared" // it stays on its host, for every task that names it
)

// localDriver is the one driver that there is, Docker's for directories of the host.
const localDriver = "local"

// MaxShared bounds how many shared volumes a host reports to its pool. Those beyond it, by the order of their names, are for tasks that may make
// them, and not for those that need them to be there.
const MaxShared = 256

// DockerConfiguration is ECS's dockerVolumeConfiguration. A shared volume is the directory local/NAME of its host, unless the operator has named
// another one: `pinion up --volume NAME=DIR`, the counterpart of `docker volume create`.
type DockerConfiguration struct {
	Scope         string            `json:"scope,omitempty"`         // ScopeTask when empty
	Autoprovision *bool             `json:"autoprovision,omitempty"` // of a shared one: the host makes it when it is missing; nil: it does not
	Driver        string            `json:"driver,omitempty"`        // localDriver when empty
	DriverOpts    map[string]string `json:"driverOpts,omitempty"`    // there are none
	Labels        map[string]string `json:"labels,omitempty"`        // recorded and shown
}

// Shared reports whether the volume outlives its task.
func (c *DockerConfiguration) Shared() bool { return c != nil && c.Scope == ScopeShared }

// Makes reports whether a host makes the shared volume when it does not have it.
func (c *DockerConfiguration) Makes() bool { return c.Autoprovision != nil && *c.Autoprovision }

// Problem is the member of the configuration that cannot be had, and why; empty: all can.
func (c *DockerConfiguration) Problem() (member, why string) {
	switch {
	case c.Scope != "" && c.Scope != ScopeTask && c.Scope != ScopeShared:
		return "scope", fmt.Sprintf("it is task or shared, not %.100q", c.Scope)
	case c.Driver != "" && c.Driver != localDriver:
		return "driver", fmt.Sprintf("hosts have no plugins of Docker, so it is local, not %.100q; what the operator has mounted on the hosts is given with pinion up --volume NAME=DIR", c.Driver)
	case len(c.DriverOpts) > 0:
		return "driverOpts", "what a host mounts is the word of its operator, who gives it the name of the volume with pinion up --volume NAME=DIR; a network file system is named by efsVolumeConfiguration (pinion up --file-system), and a tmpfs is in linuxParameters of the container"
	}
	return "", ""
}

// SharedSource is the sourcePath of a shared volume on a host with those roots.
func SharedSource(roots []Root, volume string) string {
	if volume != Local && slices.ContainsFunc(roots, func(r Root) bool { return r.Name == volume }) {
		return volume
	}
	return Local + "/" + volume
}

// SharedUse is a shared volume of a task.
type SharedUse struct {
	Volume string
	Writer string // a container that writes to it; empty: none does
	Makes  bool   // its host may make it
}

// RefusedBy is Refusal for a shared volume on a host with those roots, which has those volumes below Local.
func (u SharedUse) RefusedBy(roots []Root, have []string) string {
	source := SharedSource(roots, u.Volume)
	if source != u.Volume && !u.Makes && !slices.Contains(have, u.Volume) {
		return fmt.Sprintf("volume %s: this host does not have the shared volume, and autoprovision is not true: start the host with pinion up --volume %s=DIR, or set autoprovision", u.Volume, u.Volume)
	}
	return Refusal(roots, u.Volume, source, u.Writer)
}
