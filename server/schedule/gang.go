package schedule

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// The port range of gangs starts at 29500, the default of PyTorch's launchers. It lies below Linux's ephemeral ports.
const (
	firstGangPort = 29500
	gangPorts     = 1000
)

// runGang places the tasks of a gang near one another: see packByTopology.
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

// candidates lists the hosts that can run a task of the gang, each with its number of slots.
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

// totalSlots returns an upper bound for how many tasks of the request fit on all hosts.
func (c *clusterHosts) totalSlots(a *evaluation) (tasks int) {
	for _, h := range c.hosts {
		tasks += a.slotsOn(h)
	}
	return tasks
}

// slotsOn returns how many tasks of the request fit on a host, without its constraints.
func (a *evaluation) slotsOn(h *Host) int {
	free := a.capacityOn(h)
	return free.slots(a.demandOn(h), a.Run.Count)
}

// fill places part.tasks tasks on a host, or fewer when a constraint or the GPU topology refuses more.
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

// refusals evaluates every host for one more task.
func (c *clusterHosts) refusals(a *evaluation, spent map[*Host]bool) []rankedHost {
	options := a.rankAll(c.hosts, runFilters)
	for i := range options {
		if o := &options[i]; o.refusal.Reason == "" && spent[o.host] {
			o.refusal = refuseSplitGPUs(o.host)
		}
	}
	return options
}

// allOrNothing assigns ranks to a complete gang and releases the tasks of an incomplete one. Other requests pass unchanged.
func (c *clusterHosts) allOrNothing(a *evaluation, d Decision) Decision {
	if !a.options.Gang || len(d.Tasks) == 0 {
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

// release releases the resources of a planned task.
func (c *clusterHosts) release(task *spec.Task) {
	if at, known := c.find(task.HostID); known {
		if its, has := c.hosts[at].find(task.ID); has {
			c.releaseAt(c.hosts[at], its)
		}
	}
}

// assignRanks gives the tasks of a gang their ranks in order, and a port that rank 0 holds on its host.
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

// gangID returns the gang id of the pending tasks, or a new one when there are none.
func (a *evaluation) gangID() string {
	if len(a.Waiting) == 0 {
		return a.IDs()
	}
	if seat := a.Waiting[0].Gang; seat != nil {
		return seat.ID
	}
	return ""
}

// gangPort returns a free gang port of the host, 0 when there is none. The search starts at a port drawn from the request's
// seed, because a program outside the pool may listen on a port: a retried gang then gets another one.
func (a *evaluation) gangPort(h *Host) int {
	from := int(a.Seed % gangPorts)
	for i := range gangPorts {
		if port := firstGangPort + (from+i)%gangPorts; !h.Free.Ports[port] {
			return port
		}
	}
	return 0
}
