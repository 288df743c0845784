package prefetch

import (
	"slices"
	"strings"

	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Reservation is the room that is kept for a task which waits in the queue.
type Reservation struct {
	TaskID string
	Hosts  []string // their ids
}

// hostImages are references of images by the id of the host that is to have them, at most blob.MaxPrefetch each.
type hostImages map[string][]string

func (h hostImages) add(host string, refs []string) {
	for _, ref := range refs {
		if len(h[host]) < blob.MaxPrefetch && !slices.Contains(h[host], ref) {
			h[host] = append(h[host], ref)
		}
	}
}

// wanted is what hosts are to fetch now: those with tasks of a service that is being deployed anew, and those with room that is kept for a
// task.
func wanted(v *raftfsm.View, reserved []Reservation) hostImages {
	all := hostImages{}
	for _, s := range v.Services("") {
		if d := s.Primary(); s.Status == service.Active && d != nil && d.State == service.InProgress {
			all.addRollout(v, s, d)
		}
	}
	for _, r := range reserved {
		task := v.Task(r.TaskID)
		if task == nil || task.LastStatus != spec.Provisioning {
			continue
		}
		refs := refsOf(v, task.Cluster, v.Definition(task.Definition), task)
		for _, host := range r.Hosts {
			all.add(host, refs)
		}
	}
	return all
}

// addRollout adds the images of a deployment for the hosts that have tasks of the ones before: its own tasks take their places. While its
// first task finds out what the tags mean, nothing is wanted.
func (h hostImages) addRollout(v *raftfsm.View, s *service.Service, d *service.Deployment) {
	var first *spec.Task // of the deployment, that has its place
	hosts := map[string]bool{}
	for _, t := range v.ServiceTasks(s.ID) {
		switch {
		case t.LastStatus == spec.Stopped || t.HostID == "":
		case t.Service.Deployment != d.ID:
			hosts[t.HostID] = true
		case first == nil || t.Resolved() && !first.Resolved():
			first = t
		}
	}
	definition := v.Definition(d.Definition)
	if definition == nil || len(hosts) == 0 || first != nil && definition.ResolvesOnce() && !first.Resolved() {
		return
	}
	refs := refsOf(v, s.Cluster, definition, first)
	for host := range hosts {
		h.add(host, refs)
	}
}

// refsOf are the images of a task definition, by the digests that a task of it has of them; the task may be nil. Those that a task pulls with credentials of its own, that
// its cluster may not have, and that each host makes itself, are none of them.
func refsOf(v *raftfsm.View, cluster string, d *spec.TaskDefinition, task *spec.Task) (refs []string) {
	if d == nil {
		return nil
	}
	if task == nil {
		task = withoutDigests(d)
	}
	task = image.Resolve(v, task, d) // of an imported image no registry is asked
	allowed := v.Cluster(cluster).Rules().AllowedImages
	for i := range d.Containers {
		c := &d.Containers[i]
		if c.RepositoryCredentials != nil || !allowed.Allows(c.Image) || spec.IsBuiltinImage(c.Image) {
			continue
		}
		ref := c.Image
		if !strings.Contains(ref, "@") {
			if digest := task.ImageDigest(c.Name); digest != "" {
				ref += "@" + digest
			}
		}
		refs = append(refs, ref)
	}
	return refs
}

// withoutDigests is a task of a definition whose images nobody has asked for yet.
func withoutDigests(d *spec.TaskDefinition) *spec.Task {
	task := new(spec.Task)
	for i := range d.Containers {
		task.Containers = append(task.Containers, spec.Container{Name: d.Containers[i].Name})
	}
	return task
}
