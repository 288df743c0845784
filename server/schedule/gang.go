package schedule

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// Ports of gangs: 29500 is where PyTorch's launchers begin, and below the range from which Linux takes ports by itself.
const (
	firstGangPort = 29500
	gangPorts     = 1000
)

// runGang places the tasks of a gang near one another: see nearest.
func (c *clusterHosts) runGang(a *evaluation) Decision {
	var decision Decision
	if a.Quiet && c.totalSlots(a) < a.Run.Count {
		return decision
	}
	spent := map[*Host]bool{}
	for len(decision.Tasks) < a.Run.Count {
		rooms := c.candidates(a, spent)
		if len(rooms) == 0 {
			break
		}
		for _, part := range packByTopology(rooms, a.Run.Count-len(decision.Tasks), topologyLevels) {
			decision.Tasks = append(decision.Tasks, c.fill(a, part, spent)...)
		}
	}
	if missing := a.Run.Count - len(decision.Tasks); missing > 0 && !a.Quiet {
		decision.Failures = failures(c.refusals(a, spent), missing)
	}
	return decision
}

// candidates lists the hosts that have room for a task of the gang, and for how many at most.
func (c *clusterHosts) candidates(a *evaluation, spent map[*Host]bool) []hostSlots {
	var rooms []hostSlots
	for _, h := range c.hosts {
		tasks := a.slotsOn(h)
		if tasks == 0 || spent[h] {
			continue
		}
		if _, refused := a.refusal(h, runFilters); !refused {
			rooms = append(rooms, hostSlots{host: h, tasks: tasks, cost: a.costOn(h)})
		}
	}
	return rooms
}

// totalSlots is how many tasks of the request the hosts have room for at most.
func (c *clusterHosts) totalSlots(a *evaluation) (tasks int) {
	for _, h := range c.hosts {
		tasks += a.slotsOn(h)
	}
	return tasks
}

// slotsOn is how many tasks of the request a host has room for, as far as amounts go.
func (a *evaluation) slotsOn(h *Host) int {
	d := a.demandOn(h)
	most := int64(a.Run.Count)
	if d.CPU > 0 {
		most = min(most, h.Free.CPU/d.CPU)
	}
	if d.MemoryMiB > 0 {
		most = min(most, h.Free.MemoryMiB/d.MemoryMiB)
	}
	if gpus := d.TotalGPUs(); gpus > 0 {
		most = min(most, int64(len(h.Free.GPUs)/gpus))
	}
	if len(d.Ports)+len(d.UDPPorts) > 0 || a.distinct {
		most = min(most, 1)
	}
	return int(max(0, most))
}

// fill places as many tasks on a host as its part says, or fewer when a constraint or its wiring has no more of them there.
func (c *clusterHosts) fill(a *evaluation, part hostSlots, spent map[*Host]bool) (tasks []*spec.Task) {
	for len(tasks) < part.tasks {
		if _, refused := a.refusal(part.host, runFilters); refused {
			break
		}
		task := a.place(part.host)
		if task == nil {
			spent[part.host] = true
			break
		}
		c.assume(part.host, task)
		tasks = append(tasks, task)
	}
	return tasks
}

// refusals is what every host says to one more task.
func (c *clusterHosts) refusals(a *evaluation, spent map[*Host]bool) []rankedHost {
	options := a.rankAll(c.hosts, runFilters)
	for i := range options {
		if o := &options[i]; o.refusal.Reason == "" && spent[o.host] {
			o.refusal = refuseSplitGPUs(o.host)
		}
	}
	return options
}

// allOrNothing makes a gang of the tasks, and of a gang that has not all its places nothing. Other requests stay as they are.
func (c *clusterHosts) allOrNothing(a *evaluation, d Decision) Decision {
	if !a.terms.Gang || len(d.Tasks) == 0 {
		return d
	}
	wanted := a.Run.Count
	if len(a.Run.Hosts) > 0 {
		wanted = len(a.Run.Hosts)
	}
	if len(d.Tasks) == wanted {
		refusal, refused := c.assignRanks(a, d.Tasks)
		if !refused {
			return d
		}
		d.Failures = append(d.Failures, refusal)
	}
	for _, task := range d.Tasks {
		c.release(task)
	}
	for i := range d.Failures {
		d.Failures[i].Detail += fmt.Sprintf(" (when %d tasks of the gang have a place: all of them start, or none)", len(d.Tasks))
	}
	return Decision{Failures: d.Failures}
}

// release takes back what a task was given.
func (c *clusterHosts) release(task *spec.Task) {
	if at, known := c.find(task.HostID); known {
		if its, has := c.hosts[at].find(task.ID); has {
			c.releaseAt(c.hosts[at], its)
		}
	}
}

// assignRanks gives the tasks of a gang their ranks, in their order, and a port that the first one holds on its host.
func (c *clusterHosts) assignRanks(a *evaluation, tasks []*spec.Task) (refusal spec.Failure, refused bool) {
	first := tasks[0]
	at, _ := c.find(first.HostID)
	port := a.gangPort(c.hosts[at])
	if port == 0 {
		detail := fmt.Sprintf("every TCP port from %d to %d, which are those of gangs, is taken", firstGangPort, firstGangPort+gangPorts-1)
		return spec.Failure{HostID: first.HostID, Reason: spec.ReasonPorts, Detail: detail}, true
	}
	id := a.gangID()
	for rank, task := range tasks {
		task.Gang = &spec.GangMember{ID: id, Rank: rank, Size: len(tasks), Port: port}
	}
	c.release(first)
	first.Ports = append(first.Ports[:len(first.Ports):len(first.Ports)], port)
	c.assume(c.hosts[at], first)
	return spec.Failure{}, false
}

// gangID is a new one, or that of the tasks that wait.
func (a *evaluation) gangID() string {
	if len(a.Waiting) == 0 {
		return a.IDs()
	}
	if seat := a.Waiting[0].Gang; seat != nil {
		return seat.ID
	}
	return ""
}

// gangPort is a free one of the host, 0 when there is none. Where it begins to look follows from the request's seed: a
// program that the pool knows nothing of can listen on a port, and a gang that is tried again then finds another.
func (a *evaluation) gangPort(h *Host) int {
	from := int(a.Seed % gangPorts)
	for i := range gangPorts {
		if port := firstGangPort + (from+i)%gangPorts; !h.Free.Ports[port] {
			return port
		}
	}
	return 0
}
