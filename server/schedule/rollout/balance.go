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
type balance struct {
	was, s *service.Service // before and after the step
	f      Facts
	starts templates
	stops  *stops
	events *eventRecorder
}

// follow takes note of what has become of the task that was started for a zone, before the step counts the tasks.
func (b balance) follow() {
	said := &b.s.Conditions.Balance
	r := b.stops.live.find(said.Task)
	switch {
	case r == nil || !r.current:
		said.Task, said.Zone = "", ""
	case r.noPlace && b.stops.stop(r, b.reason(), false):
		b.stuck(service.ActionNotPlaced, noRoom, said.Zone)
		said.Task, said.Zone, said.Tried = "", "", b.stops.now
	case r.healthy && !(b.surplus() == 1 && b.isOn()):
		said.Task, said.Zone = "", ""
	case r.healthy && b.stops.isSpare(r):
		said.Task, said.Zone = "", ""
		b.finish(r)
	}
}

const noRoom = "is unable to place a task in %s because no container instance met all of its requirements."

// held is how many of the tasks beyond the desired count stay: the one that is to take the place of one in another zone.
func (b balance) held() int {
	if r := b.stops.live.find(b.s.Conditions.Balance.Task); r != nil && !r.stopped && b.surplus() == 1 && b.isOn() {
		return 1
	}
	return 0
}

// finish stops a task of a zone that has more than the zone of a task which is healthy there now; that one where all of these are protected.
func (b balance) finish(r *replica) {
	tasks := b.stops.live.byZone()
	for _, other := range b.stops.live.stopOrder(isCurrent) {
		if tasks[other.zone] > tasks[r.zone] && b.stops.stop(other, b.reason(), false) {
			b.s.Conditions.Balance.Stuck, other.told = false, true
			b.events.addEvent(service.ActionTasksStopped, "has stopped 1 running tasks in %s due to AZ rebalancing: (task %s).", other.zone, other.ID)
			return
		}
	}
	if b.stops.stop(r, b.reason(), false) {
		b.protected()
	}
}

// begin starts a task in the zone with the fewest tasks, when another one has at least two more.
func (b balance) begin() {
	said := &b.s.Conditions.Balance
	if !b.s.Rebalances() || len(b.f.Zones) < 2 {
		said.On, said.Stuck = false, false
		return
	}
	if b.was.Conditions.Steady.IsZero() || b.s.Conditions.Steady.IsZero() || b.starts.of(b.s.Primary()) == nil {
		return
	}
	tasks := b.stops.live.byZone()
	if _, apart := farthest(b.f.Zones, tasks); apart {
		zones := b.f.ZonesFor(b.starts.of(b.s.Primary()).task("", b.f.NewID, b.stops.now))
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
		b.events.addEvent(service.ActionRebalanced, "is AZ balanced with %s.", inZones(b.f.Zones, tasks))
	}
	said.On, said.Stuck = false, false
}

// move starts a task in the zone with the fewest tasks that has room, or says what keeps it from that. least is the zone with the fewest.
func (b balance) move(zones []Zone, least string, tasks map[string]int) {
	said := &b.s.Conditions.Balance
	to := slices.DeleteFunc(slices.Clone(zones), func(z Zone) bool { return !z.HasRoom })
	slices.SortStableFunc(to, func(a, b Zone) int { return cmp.Compare(tasks[a.Name], tasks[b.Name]) })
	most := 0
	for _, r := range b.stops.live.stopOrder(isCurrent) {
		if !b.stops.isProtected(r.Task) {
			most = max(most, tasks[r.zone])
		}
	}
	waits := said.Tried.Add(queueRetry)
	switch held := heldUntil(b.s.Primary()); {
	case held.After(b.stops.now):
		b.stops.rules.wakeAt(held)
	case waits.After(b.stops.now) && !said.Tried.IsZero():
		b.stops.rules.wakeAt(waits)
	case b.s.MaxTasks() <= b.s.Desired:
		b.stuck(service.ActionRebalanceStopped, "moves no task between the zones: maximumPercent lets it run %d tasks, and each move needs one more for a while.", b.s.MaxTasks())
	case len(to) == 0:
		b.stuck(service.ActionNotPlaced, noRoom, least)
	case most-tasks[to[0].Name] < 2 && tasks[to[0].Name]-tasks[least] > 0:
		b.stuck(service.ActionNotPlaced, noRoom, least)
	case most-tasks[to[0].Name] < 2:
		b.protected()
	case b.f.Limit != "" && b.f.StartAtMost < 1:
		b.stops.rules.wakeAt(b.stops.now.Add(limitRetry))
	default:
		b.start(to[0].Name, tasks)
	}
}

// start starts a task for a zone.
func (b balance) start(zone string, tasks map[string]int) {
	said := &b.s.Conditions.Balance
	if !said.On {
		b.events.addEvent(service.ActionRebalancing, "is not AZ balanced with %s. AZ Rebalancing in progress.", inZones(b.f.Zones, tasks))
	}
	task := b.starts.of(b.s.Primary()).taskIn(zone, b.f.NewID, b.stops.now)
	said.On, said.Task, said.Zone = true, task.ID, zone
	b.stops.step.Starts = append(b.stops.step.Starts, task)
	b.s.Conditions.Steady = time.Time{}
	b.events.addEvent(service.ActionTasksStarted, "has started 1 tasks in %s to AZ Rebalance: (task %s).", zone, task.ID)
}

// stuck says once why no task is moved, though the zones differ, and has the service look again.
func (b balance) stuck(action service.Action, format string, a ...any) {
	said := &b.s.Conditions.Balance
	b.events.once(&said.Stuck, true, action, format, a...)
	if said.On {
		b.events.addEvent(service.ActionRebalanceStopped, "stopped AZ Rebalancing.")
	}
	said.On = false
	b.stops.rules.wakeAt(b.stops.now.Add(zoneRetry))
}

func (b balance) protected() {
	b.stuck(service.ActionTasksProtected, "was unable to AZ Rebalance because (taskSet %s) was unable to scale in due to task protection.",
		service.DeploymentName(b.s.Primary().ID))
}

func (b balance) reason() string {
	return fmt.Sprintf(reasonRebalancing, service.DeploymentName(b.s.Primary().ID))
}

// isOn reports whether tasks of the service may be moved now.
func (b balance) isOn() bool {
	return b.s.Rebalances() && b.s.Primary().State == service.Completed && !b.s.Shift.IsOn()
}

// surplus is how many current tasks there are beyond the desired count.
func (b balance) surplus() int { return b.stops.live.count(isCurrent) - b.s.Desired }

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
