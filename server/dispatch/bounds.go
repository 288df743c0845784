package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
)

// Bounds on what a host says of itself and of its tasks, which every server of the pool writes down. A host stays far below them; root of an
// agent could otherwise fill the disks of the servers.
const (
	maxHostBytes   = 256 << 10 // of a host as JSON; one with 16 GPUs has some 30 KiB
	maxTextBytes   = 4 << 10   // of each text in a report
	maxTaskIDBytes = 64
	maxBindings    = 256       // of a container
	maxCapacity    = 1 << 40   // CPU units or MiB of a host: sums over thousands of hosts stay whole numbers
	maxGPUs        = 32 * 7    // of a host: no driver knows more than 32, with 7 MIG devices each
	maxLanes       = 1 << 10   // of NVLink between two GPUs: 18 so far
	maxUnknown     = 10_000    // tasks of one message that are not the host's
	maxElements    = 250_000   // of all lists of a message; a task has some ten
	fewElements    = 20_000    // of a message, however short they are; beyond them each has sparseness bytes
	sparseness     = 24        // an element is a report, a container or a binding, all of them longer
	elementBytes   = 64        // that an element counts for, beside its text, in the size of a message
	maxMembers     = 2_000_000 // of all objects of a message, these included; a task has some fifty
)

// checkShape refuses a message that is small as text and large as what it stands for: an element of a list is two bytes here, and hundreds of
// bytes when it is decoded. size is what it counts for.
func checkShape(text []byte) (size int, err error) {
	var lists []bool // of each list and object that is open: whether it is a list
	elements, members, quoted := 0, 0, false
	most := min(maxElements, fewElements+len(text)/sparseness)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			lists = append(lists, true)
			elements++
		case c == '{':
			lists = append(lists, false)
			members++
		case (c == ']' || c == '}') && len(lists) > 0:
			lists = lists[:len(lists)-1]
		case c == ',' && len(lists) > 0 && lists[len(lists)-1]:
			elements++
		case c == ',':
			members++
		}
		if elements > most || members > maxMembers {
			return 0, errTooMuch
		}
	}
	return len(text) + elements*elementBytes, nil
}

// errTooMuch ends a session whose host says what no host has to say.
var errTooMuch = errors.New("a message of the session has more elements than a host with 10,000 tasks")

// checkHost refuses a description of a host that is too large to be recorded, or that no machine fits.
func checkHost(h *spec.Host) error {
	if !spec.ValidHostName(h.Name) {
		return fmt.Errorf("host %s calls itself %.300q, and a name is 1 to 253 letters, digits and . _ -, beginning with a letter or a digit: give it one by `pinion up --name`", h.ID, h.Name)
	}
	if min(h.CPU, h.MemoryMiB) < 0 || max(h.CPU, h.MemoryMiB) > maxCapacity {
		return fmt.Errorf("host %s says that it has %d CPU units and %d MiB, which no machine has", h.ID, h.CPU, h.MemoryMiB)
	}
	if err := checkGPUs(h.ID, h.GPUs); err != nil {
		return err
	}
	if len(h.VirtualIPs) > iplease.MaxOffers {
		return fmt.Errorf("host %s offers %d virtual IPs, at most %d are recorded", h.ID, len(h.VirtualIPs), iplease.MaxOffers)
	}
	for _, v := range h.VirtualIPs {
		if err := iplease.Check(v); err != nil {
			return fmt.Errorf("host %s offers a virtual IP: %w", h.ID, err)
		}
	}
	if n := h.TaskNetwork; n != nil {
		if _, err := tasknetwork.Parse(n.String()); err != nil {
			return fmt.Errorf("host %s has a network of tasks: %w", h.ID, err)
		}
	}
	text, err := json.Marshal(h)
	if err == nil && len(text) > maxHostBytes {
		err = fmt.Errorf("host %s describes itself in %d KiB, at most %d are recorded: give it fewer attributes", h.ID, len(text)>>10, maxHostBytes>>10)
	}
	return err
}

// checkGPUs refuses GPUs that no machine has: each is one of its own, and what is added up over them stays a number.
func checkGPUs(hostID string, gpus gpu.Inventory) error {
	if len(gpus.Devices) > maxGPUs {
		return fmt.Errorf("host %s says that it has %d GPUs, at most %d are recorded", hostID, len(gpus.Devices), maxGPUs)
	}
	seen := make(map[string]bool, len(gpus.Devices))
	for _, d := range gpus.Devices {
		if d.UUID == "" || seen[d.UUID] {
			return fmt.Errorf("host %s says that it has two GPUs of the UUID %q", hostID, d.UUID)
		}
		seen[d.UUID] = true
		if d.MemoryMiB < 0 || d.MemoryMiB > maxCapacity {
			return fmt.Errorf("host %s says that its GPU %s has %d MiB, which none has", hostID, d.UUID, d.MemoryMiB)
		}
		if mig := d.MIGDevice; mig != nil && (mig.Profile == "" || mig.Parent == "" || mig.ParentMemoryMiB < 0 || mig.ParentMemoryMiB > maxCapacity) {
			return fmt.Errorf("host %s says that its MIG device %s has the profile %q of GPU %q with %d MiB, which none has", hostID, d.UUID, mig.Profile, mig.Parent, mig.ParentMemoryMiB)
		}
		for link := range d.Links.All() {
			if link.Lanes < 0 || link.Lanes > maxLanes {
				return fmt.Errorf("host %s says that its GPU %s has %d lanes to another one, which none has", hostID, d.UUID, link.Lanes)
			}
		}
	}
	return nil
}

// boundedReports are the reports of a host as they are proposed: one of each task, the last, and of a task that is not its own no more than
// which one it is, so that the state machine answers that it is unknown.
func boundedReports(view *raftfsm.View, hostID string, reports []spec.TaskReport) []spec.TaskReport {
	bounded := make([]spec.TaskReport, 0, len(reports))
	seen, unknown := make(map[string]bool, len(reports)), 0
	var network *tasknetwork.Network
	if host := view.Host(hostID); host != nil {
		network = host.TaskNetwork
	}
	for _, r := range slices.Backward(reports) {
		if seen[r.TaskID] || r.TaskID == "" || len(r.TaskID) > maxTaskIDBytes {
			continue
		}
		seen[r.TaskID] = true
		if task := view.Task(r.TaskID); task != nil && task.HostID == hostID {
			r.Targets = ownTargets(view, task, r.Targets)
			bounded = append(bounded, boundedReport(r, len(task.Containers), network))
		} else if unknown++; unknown <= maxUnknown {
			bounded = append(bounded, spec.TaskReport{TaskID: r.TaskID, Status: spec.Pending})
		}
	}
	slices.Reverse(bounded)
	return bounded
}

// imageDigest is the form of a digest. That of one host is what the others of its cluster pull for the tasks of the same run.
var imageDigest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// boundedReport is a report of a task with so many containers, which have addresses of the network's subnet if they have some of their own.
func boundedReport(r spec.TaskReport, containers int, network *tasknetwork.Network) spec.TaskReport {
	r.Status, r.StopCode, r.StoppedReason = spec.Status(clip(string(r.Status))), spec.StopCode(clip(string(r.StopCode))), clip(r.StoppedReason)
	given := r.Containers[:min(len(r.Containers), containers)]
	r.Containers = make([]spec.ContainerReport, 0, len(given))
	for _, c := range given {
		c.Name, c.Reason, c.RuntimeID = clip(c.Name), clip(c.Reason), clip(c.RuntimeID)
		if !imageDigest.MatchString(c.ImageDigest) {
			c.ImageDigest = ""
		}
		c.Status = spec.Status(clip(string(c.Status)))
		if !network.Owns(c.Address) {
			c.Address = "" // else requests to the task could go to whatever the host names
		}
		r.Containers = append(r.Containers, boundedContainer(c))
	}
	return r
}

// ownTargets is what a host has found of the targets that its task is by its service. The state keeps what was found of each target, so others would
// add up there.
func ownTargets(view *raftfsm.View, task *spec.Task, found []traffic.TargetHealth) (own []traffic.TargetHealth) {
	if task.Service == nil {
		return nil
	}
	revision := view.ServiceRevision(task.Service.Deployment)
	if revision == nil {
		return nil
	}
	for _, b := range revision.Targets() {
		h := traffic.FindHealth(found, b.Group, b.Container, b.Port)
		if h != nil && (h.State == traffic.Healthy || h.State == traffic.Unhealthy) {
			own = append(own, traffic.TargetHealth{Group: b.Group, Container: b.Container, Port: b.Port, State: h.State, Reason: clip(h.Reason), Detail: clip(h.Detail)})
		}
	}
	return own
}

// clip bounds a text of a host. It stays UTF-8: what carries it on, as OTLP does, refuses anything else.
func clip(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxTextBytes)], "") }
