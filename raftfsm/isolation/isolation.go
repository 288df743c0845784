// Package isolation has the rules of what a task may have of its host past its containers: powers, devices, buckets, directories and the
// destinations of logs. They hold for whoever asks: the scheduler, the host of a task, and the API.
package isolation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pinion/raftfsm/linux"
	"pinion/raftfsm/spec"
)

// Allowable reports whether the word means something in `pinion up --allow`: a capability that hosts do not give by themselves, or
// one of the words of package spec.
func Allowable(word string) bool {
	switch word {
	case spec.AllowPrivileged, spec.AllowHostPID, spec.AllowHostIPC:
		return true
	}
	return slices.Contains(linux.CapabilityNames, word) && !linux.Contained(word)
}

// Requirements are the requests of a task definition that reach past its containers: powers, devices, buckets, directories, and the destinations of
// logs. The scheduler checks them before it places a task, and the host again before it starts one.
type Requirements struct {
	privileges []privilege
	uses       []hostUse
	shared     []string // what user namespaces cannot share: who asks for what, in words
	rules      spec.ClusterRules
	// forbidden is an image of its containers that the rules do not allow; empty: they allow all.
	forbidden  string
	definition *spec.TaskDefinition
}

// privilege is one thing that a definition asks for and that a host has to allow.
type privilege struct {
	allow   string // the word of `pinion up --allow`
	asks    string // who asks for what, in words
	devices bool   // a process that has it can open the GPUs of other tasks
}

// RequirementsOf returns the requirements of a definition with its overrides merged.
func RequirementsOf(d *spec.TaskDefinition) Requirements {
	i := Requirements{definition: d}
	if d.PIDMode == "host" {
		i.privileges = append(i.privileges, privilege{spec.AllowHostPID, "the task has pidMode host", false})
	}
	if d.IPCMode == "host" {
		i.privileges = append(i.privileges, privilege{spec.AllowHostIPC, "the task has ipcMode host", false})
	}
	for n := range d.Containers {
		i.privileges = append(i.privileges, privilegesOf(&d.Containers[n])...)
		i.uses = append(i.uses, hostUses(&d.Containers[n])...)
	}
	i.uses = append(i.uses, hostVolumes(d)...)
	i.shared = outsideUserNamespaces(d)
	return i
}

func privilegesOf(c *spec.ContainerDefinition) (all []privilege) {
	if c.Privileged != nil && *c.Privileged {
		all = append(all, privilege{spec.AllowPrivileged, fmt.Sprintf("container %s is privileged", c.Name), true})
	}
	for _, u := range c.Ulimits {
		if u.Name == "rtprio" && u.HardLimit != 0 {
			all = append(all, privilege{"SYS_NICE", fmt.Sprintf("container %s has the ulimit rtprio", c.Name), false})
		}
	}
	if c.LinuxParameters == nil || c.LinuxParameters.Capabilities == nil {
		return all
	}
	for _, added := range c.LinuxParameters.Capabilities.Add {
		if name := strings.TrimPrefix(strings.ToUpper(added), "CAP_"); !linux.Contained(name) {
			asks := fmt.Sprintf("container %s has the capability %s", c.Name, added)
			all = append(all, privilege{name, asks, linux.OpensDevices(name)})
		}
	}
	return all
}

// Key is the same for questions that RefusedBy answers alike on every host.
func (i Requirements) Key(byAdmin bool) string {
	if len(i.privileges) == 0 && len(i.uses) == 0 && len(i.shared) == 0 && !i.rules.UserNamespaces && i.forbidden == "" {
		return ""
	}
	key := strconv.AppendBool(strconv.AppendBool(nil, byAdmin), i.rules.UserNamespaces)
	key = fmt.Appendf(key, " image %q", i.forbidden)
	for _, asks := range i.shared {
		key = fmt.Appendf(key, " shared %q", asks)
	}
	for _, p := range i.privileges {
		key = fmt.Appendf(key, " power %q", p.asks)
	}
	for _, u := range i.uses {
		key = fmt.Appendf(key, " %T %q", u, u)
	}
	return string(key)
}

// RefusedBy returns the reason why the host does not run such a task, with what would have to change; empty when it does. byAdmin says that an
// access key of the role admin asked for the task.
//
// GPUs belong to one task each, so no host with GPUs gives the power to open the others, whoever asks. The other powers reach the
// processes of the host, which may hold every GPU, so there they are an admin's.
func (i Requirements) RefusedBy(h *spec.Host, byAdmin bool) string {
	if i.forbidden != "" {
		return fmt.Sprintf("image %.200s is none of those that tasks of this cluster may have, which are of %s: name another one, or have the cluster's setting %s changed", i.forbidden, i.rules.AllowedImages, spec.SettingAllowedImages)
	}
	for _, p := range i.privileges {
		switch {
		case p.devices && h.MayHaveGPUs():
			return p.asks + " and could reach every GPU of this host: remove that, or run it on a host without GPUs"
		case !slices.Contains(h.Allow, p.allow):
			return fmt.Sprintf("%s, which this host does not allow: start the host with pinion up --allow %s, or remove that", p.asks, p.allow)
		case !byAdmin && h.MayHaveGPUs():
			return p.asks + ", which on a host with GPUs needs an access key of the role admin: use one, remove that, or run it on a host without GPUs"
		}
	}
	for _, u := range i.uses {
		if refusal := u.refusedBy(h); refusal != "" {
			return refusal
		}
	}
	return i.refusedInUserNamespaces(h)
}

// NeedsAdmin reports whether there are hosts that run such a task for an access key of the role admin alone.
func (i Requirements) NeedsAdmin() bool { return len(i.privileges) > 0 }

// outsideUserNamespaces lists the namespaces that the definition shares and that belong to the user namespace of the host: with its host, or among its containers, each of
// which has a user namespace of its own.
func outsideUserNamespaces(d *spec.TaskDefinition) (all []string) {
	if d.NetworkMode == "host" {
		all = append(all, "the task has networkMode host")
	}
	if d.PIDMode == "host" {
		all = append(all, "the task has pidMode host")
	}
	if d.IPCMode == "host" {
		all = append(all, "the task has ipcMode host")
	}
	if d.PIDMode == "task" || d.IPCMode == "task" {
		all = append(all, "its containers share process ids or IPC (pidMode or ipcMode task)")
	}
	if d.HasOwnAddress() && len(d.Containers) > 1 {
		all = append(all, "its containers share a network (networkMode awsvpc)")
	}
	for i := range d.Containers {
		if c := &d.Containers[i]; c.Privileged != nil && *c.Privileged {
			all = append(all, fmt.Sprintf("container %s is privileged", c.Name))
		}
	}
	return all
}

// Under is the same in a cluster with these rules.
func (i Requirements) Under(rules spec.ClusterRules) Requirements {
	i.rules, i.forbidden = rules, ""
	for n := range i.definition.Containers {
		if image := i.definition.Containers[n].Image; !rules.AllowedImages.Allows(image) {
			i.forbidden = image
			break
		}
	}
	return i
}

// refusedInUserNamespaces is RefusedBy for what the cluster and the host want of user namespaces: the stricter counts.
func (i Requirements) refusedInUserNamespaces(h *spec.Host) string {
	switch {
	case i.rules.UserNamespaces && h.UserNamespaces == "":
		return "tasks of this cluster run in user namespaces, which this host does not have: pinion doctor says there what it lacks, or set the cluster's setting userNamespaces to disabled"
	case len(i.shared) == 0:
		return ""
	case i.rules.UserNamespaces:
		return i.shared[0] + ", and tasks of this cluster run in user namespaces, which cannot share that: remove it, or run the task in a cluster whose setting userNamespaces is disabled"
	case h.UserNamespaces == spec.UserNamespacesRequired:
		return i.shared[0] + ", and all tasks of this host run in user namespaces, which cannot share that: remove it, or start the host without --user-namespaces"
	}
	return ""
}
