package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/service"
)

const (
	// zoneRetry is when a service looks again for room in a zone: nothing of the service tells that there is some.
	zoneRetry = time.Minute
	// queueRetry is when a task is started again for a zone that had room for one which the queue then did not place: others are before it.
	queueRetry = 10 * time.Minute
)

// Zone is an availability zone: what hosts have as spec.AttributeZone.
type Zone struct {
	Name    string
	HasRoom bool // one of its hosts takes a task of the service now
}

// balance is the part of a step that evens out the tasks of a steady service over the zones of the hosts that could run them. It moves one task at
// a time: a task is started in a zone with at least two fewer than another one has, and when it is healthy one of the other zone is stopped. So each move
// makes the zones more equal, and an end comes. Nothing is moved while a deployment is in progress, and none that is protected.
type balance struct{ p *planner }

// follow takes note of what has become of the task that was started for a zone, before the step counts the tasks.
func (b balance) follow() {
	p, said := b.p, &b.p.s.Conditions.Balance
	r := p.live.find(said.Task)
	switch {
	case r == nil || !r.current:
		said.Task, said.Zone = "", ""
	case r.noPlace && p.stop(r, b.reason(), false):
		b.stuck(service.ActionNotPlaced, noRoom, said.Zone)
		said.Task, said.Zone, said.Tried = "", "", p.now
	case r.healthy && !(b.surplus() == 1 && b.isOn()):
		said.Task, said.Zone = "", ""
	case r.healthy && p.isSpare(r):
		said.Task, said.Zone = "", ""
		b.finish(r)
	}
}

const noRoom = "is unable to place a task in %s because no container instance met all of its requirements."

// held is how many of the tasks beyond the desired count stay: the one that is to take the place of one in another zone.
func (b balance) held() int {
	if r := b.p.live.find(b.p.s.Conditions.Balance.Task); r != nil && !r.stopped && b.surplus() == 1 && b.isOn() {
		return 1
	}
	return 0
}

// finish stops a task of a zone that has more than the zone of a task which is healthy there now; that one where all of these are protected.
func (b balance) finish(r *replica) {
	p, tasks := b.p, b.p.live.byZone()
	for _, other := range p.live.stopOrder(isCurrent) {
		if tasks[other.zone] > tasks[r.zone] && p.stop(other, b.reason(), false) {
			p.s.Conditions.Balance.Stuck, other.told = false, true
			p.journal.addEvent(service.ActionTasksStopped, "has stopped 1 running tasks in %s due to AZ rebalancing: (task %s).", other.zone, other.ID)
			return
		}
	}
	if p.stop(r, b.reason(), false) {
		b.protected()
	}
}

// begin starts a task in the zone with the fewest tasks, when another one has at least two more.
func (b balance) begin() {
	p, said := b.p, &b.p.s.Conditions.Balance
	if !p.s.Rebalances() || len(p.f.Zones) < 2 {
		said.On, said.Stuck = false, false
		return
	}
	if p.was.Conditions.Steady.IsZero() || p.s.Conditions.Steady.IsZero() || p.v.Definition(p.s.Primary().Definition) == nil {
		return
	}
	tasks := p.live.byZone()
	if _, apart := farthest(p.f.Zones, tasks); apart {
		zones := p.f.ZonesFor(templateOf(p, p.s.Primary()).task("", p.f.NewID, p.now))
		names := make([]string, len(zones))
		for i, z := range zones {
			names[i] = z.Name
		}
		if least, apart := farthest(names, tasks); apart {
			b.move(zones, least, tasks)
			return
		}
	}
	if said.On {
		p.journal.addEvent(service.ActionRebalanced, "is AZ balanced with %s.", inZones(p.f.Zones, tasks))
	}
	said.On, said.Stuck = false, false
}

// move starts a task in the zone with the fewest tasks that has room, or says what keeps it from that. least is the zone with the fewest.
func (b balance) move(zones []Zone, least string, tasks map[string]int) {
	p, said := b.p, &b.p.s.Conditions.Balance
	to := slices.DeleteFunc(slices.Clone(zones), func(z Zone) bool { return !z.HasRoom })
	slices.SortStableFunc(to, func(a, b Zone) int { return cmp.Compare(tasks[a.Name], tasks[b.Name]) })
	most := 0
	for _, r := range p.live.stopOrder(isCurrent) {
		if !p.isProtected(r.Task) {
			most = max(most, tasks[r.zone])
		}
	}
	waits := said.Tried.Add(queueRetry)
	switch held := heldUntil(p.s.Primary()); {
	case held.After(p.now):
		p.rules.wakeAt(held)
	case waits.After(p.now) && !said.Tried.IsZero():
		p.rules.wakeAt(waits)
	case p.s.MaxTasks() <= p.s.Desired:
		b.stuck(service.ActionRebalanceStopped, "moves no task between the zones: maximumPercent lets it run %d tasks, and each move needs one more for a while.", p.s.MaxTasks())
	case len(to) == 0:
		b.stuck(service.ActionNotPlaced, noRoom, least)
	case most-tasks[to[0].Name] < 2 && tasks[to[0].Name]-tasks[least] > 0:
		b.stuck(service.ActionNotPlaced, noRoom, least)
	case most-tasks[to[0].Name] < 2:
		b.protected()
	case p.f.Limit != "" && p.f.StartAtMost < 1:
		p.rules.wakeAt(p.now.Add(limitRetry))
	default:
		b.start(to[0].Name, tasks)
	}
}

// start starts a task for a zone.
func (b balance) start(zone string, tasks map[string]int) {
	p, said := b.p, &b.p.s.Conditions.Balance
	if !said.On {
		p.journal.addEvent(service.ActionRebalancing, "is not AZ balanced with %s. AZ Rebalancing in progress.", inZones(p.f.Zones, tasks))
	}
	task := templateOf(p, p.s.Primary()).taskIn(zone, p.f.NewID, p.now)
	said.On, said.Task, said.Zone = true, task.ID, zone
	p.step.Starts = append(p.step.Starts, task)
	p.s.Conditions.Steady = time.Time{}
	p.journal.addEvent(service.ActionTasksStarted, "has started 1 tasks in %s to AZ Rebalance: (task %s).", zone, task.ID)
}

// stuck says once why no task is moved, though the zones differ, and has the service look again.
func (b balance) stuck(action service.Action, format string, a ...any) {
	p, said := b.p, &b.p.s.Conditions.Balance
	p.journal.once(&said.Stuck, true, action, format, a...)
	if said.On {
		p.journal.addEvent(service.ActionRebalanceStopped, "stopped AZ Rebalancing.")
	}
	said.On = false
	p.rules.wakeAt(p.now.Add(zoneRetry))
}

func (b balance) protected() {
	b.stuck(service.ActionTasksProtected, "was unable to AZ Rebalance because (taskSet %s) was unable to scale in due to task protection.",
		service.DeploymentName(b.p.s.Primary().ID))
}

func (b balance) reason() string {
	return fmt.Sprintf(reasonRebalancing, service.DeploymentName(b.p.s.Primary().ID))
}

// isOn reports whether tasks of the service may be moved now.
func (b balance) isOn() bool {
	p := b.p
	return p.s.Rebalances() && p.s.Primary().State == service.Completed && !p.s.Shift.IsOn()
}

// surplus is how many current tasks there are beyond the desired count.
func (b balance) surplus() int { return b.p.live.count(isCurrent) - b.p.s.Desired }

// byZone counts the tasks that a step leaves in each zone.
func (all replicas) byZone() map[string]int {
	tasks := map[string]int{}
	for _, r := range all {
		if !r.stopped && r.zone != "" {
			tasks[r.zone]++
		}
	}
	return tasks
}

// find is the live task with an id, nil when there is none.
func (all replicas) find(id string) *replica {
	if i := slices.IndexFunc(all, func(r *replica) bool { return r.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// farthest is the first of the zones with the fewest tasks, and whether some zone has at least two more.
func farthest(zones []string, tasks map[string]int) (least string, apart bool) {
	if len(zones) == 0 {
		return "", false
	}
	least = slices.MinFunc(zones, func(a, b string) int { return cmp.Compare(tasks[a], tasks[b]) })
	for _, n := range tasks {
		apart = apart || n-tasks[least] >= 2
	}
	return least, apart
}

// inZones says how many tasks zones have, those with most first.
func inZones(zones []string, tasks map[string]int) string {
	zones = slices.Clone(zones)
	slices.SortStableFunc(zones, func(a, b string) int { return cmp.Compare(tasks[b], tasks[a]) })
	var text []string
	for i, zone := range zones {
		if i == maxNamed {
			text = append(text, fmt.Sprintf("and others in %d zones", len(zones)-i))
			break
		}
		text = append(text, fmt.Sprintf("%d tasks in %s", tasks[zone], zone))
	}
	return strings.Join(text, ", ")
}
