package raftfsm

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// TestAnyHistoryKeepsTheRules draws histories of a few hosts, tasks and tokens, and checks after each command what must
// hold whatever happened before. In all histories together every kind of command has to be drawn: when chance leaves one out, there are
// more histories.
func TestAnyHistoryKeepsTheRules(t *testing.T) {
	drawn := map[reflect.Type]bool{}
	undrawn := func() []kind {
		return slices.DeleteFunc(slices.Clone(kinds.All()), func(k kind) bool { return drawn[k.Type] })
	}
	for more := 5; more > 0 && len(undrawn()) > 0; more-- {
		rapid.Check(t, func(r *rapid.T) {
			m := &model{T: r, history: newHistory(t), drawn: drawn}
			for range rapid.IntRange(1, 80).Draw(r, "commands") {
				m.step()
			}
			m.checkReplay()
			m.checkRestore()
		})
	}
	for _, k := range undrawn() {
		t.Errorf("no history had a %v", k.Type)
	}
}

type model struct {
	*rapid.T
	*history
	recorded int
	drawn    map[reflect.Type]bool // types of the commands so far; nil: nobody asks
}

func (w *model) step() {
	before, snapshot := w.View(), snapshotOf(w, w.State)
	command := w.command()
	if w.drawn != nil {
		w.drawn[reflect.TypeOf(command)] = true
	}
	answer, err := w.try(w, command)
	after := w.View()
	if err != nil && !bytes.Equal(snapshot, snapshotOf(w, w.State)) {
		w.Fatalf("refused with %v, but the state changed", err)
	}
	if results, ok := answer.([]LaunchResult); ok {
		w.checkResults(results, after)
	}
	w.checkGPUs(after)
	w.checkLives(before, after)
	w.checkPool(before, after)
	w.checkNouns(after)
	w.checkTallies(after)
	w.checkQueue(after)
	w.checkServices(before, after)
}

func (w *model) command() Command {
	return rapid.OneOf(
		rapid.Custom(w.launchTasks), rapid.Custom(w.launchTasks), rapid.Custom(w.reportTasks), rapid.Custom(w.reportTasks),
		rapid.Custom(w.putHost), rapid.Custom(w.rare), rapid.Custom(w.ofPool), rapid.Custom(w.ofNouns),
		rapid.Custom(w.ofQueue), rapid.Custom(w.ofServices),
		// Of the later kinds there are the most: each has to be drawn.
		rapid.Custom(w.ofLaterKind), rapid.Custom(w.ofLaterKind), rapid.Custom(w.ofLaterKind),
	).Draw(w.T, "command")
}

// lastByHand is the last kind whose commands are drawn by functions that know what their callers have checked. The commands of later kinds
// are drawn field by field.
const lastByHand = 37

func (w *model) ofLaterKind(r *rapid.T) Command {
	later := slices.DeleteFunc(slices.Clone(kinds.All()), func(k kind) bool { return k.Code <= lastByHand })
	value := reflect.New(pick(r, later...).Type).Elem()
	draw(r, value, 0)
	return value.Interface().(Command)
}

func (w *model) launchTasks(r *rapid.T) Command {
	var c LaunchTasks
	for range rapid.IntRange(1, 3).Draw(r, "runs") {
		run := Launch{Cluster: spec.DefaultCluster, At: w.moment(r),
			Token: pick(r, "", "", "a", "b"), TokenHash: pick(r, "x", "x", "y")}
		key := pick(r, "", "", "k1", "k2")
		for range rapid.IntRange(1, 3).Draw(r, "tasks") {
			w.recorded++
			host := w.host(r)
			gpus := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) string {
				return fmt.Sprintf("%s-gpu%d", host, rapid.IntRange(0, 3).Draw(r, "gpu"))
			}), 0, 3).Draw(r, "gpus")
			placed := task(fmt.Sprintf("t%03d", w.recorded), host, gpus...)
			placed.CPU = rapid.Int64Range(0, 3000).Draw(r, "cpu")
			if pick(r, false, false, true) {
				placed = waiting(placed.ID, len(gpus))
			}
			if key != "" {
				placed.Owner = &spec.TaskOwner{Key: key, GPUs: len(gpus)}
			}
			run.Tasks = append(run.Tasks, placed)
		}
		c.Runs = append(c.Runs, run)
	}
	return c
}

func (w *model) reportTasks(r *rapid.T) Command {
	c := ReportTasks{HostID: w.host(r)}
	for range rapid.IntRange(1, 3).Draw(r, "reports") {
		status := pick(r, spec.Pending, spec.Running, spec.Running, spec.Stopping, spec.Stopped, spec.Stopped, spec.Status("?"))
		report := spec.TaskReport{TaskID: w.task(r), Status: status,
			Containers: []spec.ContainerReport{{Name: "main", Status: pick(r, spec.Pending, spec.Running, spec.Stopped)}}}
		if status == spec.Stopped {
			report.Times.Stopped = w.moment(r)
		}
		c.Reports = append(c.Reports, report)
	}
	return c
}

// putHost describes a host anew: fewer or more devices, some of them sick.
func (w *model) putHost(r *rapid.T) Command {
	host := hostWith(w.host(r), rapid.IntRange(0, 4).Draw(r, "devices"))
	for i := range host.GPUs.Devices {
		host.GPUs.Devices[i].Health = pick(r, gpu.Healthy, gpu.Healthy, gpu.Unhealthy)
	}
	host.Cluster = pick(r, spec.DefaultCluster, spec.DefaultCluster, spec.DefaultCluster, "lab", "none")
	return PutHost{host}
}

func (w *model) rare(r *rapid.T) Command {
	return pick[Command](r,
		StopTask{ID: w.task(r), Code: spec.StopUserInitiated, At: w.moment(r)},
		StopTask{ID: w.task(r), Code: spec.StopUserInitiated, At: w.moment(r), Force: true},
		Reap{Before: w.moment(r), TokensBefore: w.moment(r)},
		CreateCluster{spec.Cluster{Name: "lab", CreatedAt: w.moment(r)}},
		RegisterDefinition{Definition: definition("gpu", "1")},
		DeregisterDefinition{Name: pick(r, "gpu:2", "gpu:3", "cpu:1"), At: w.moment(r)},
		Wrap(credential.Create{Key: accesskey.Key{ID: pick(r, "k1", "k2"), Secret: pick(r, "s1", "s2"), Grant: accesskey.Grant{MaxTasks: rapid.IntRange(0, 4).Draw(r, "limit")}}}),
		Wrap(credential.Delete{ID: pick(r, "k1", "k2")}),
		CreatePool{spec.Pool{ID: "other"}},
	)
}

func (w *model) host(r *rapid.T) string { return pick(r, "h1", "h1", "h2", "h3") }

func (w *model) task(r *rapid.T) string {
	return fmt.Sprintf("t%03d", rapid.IntRange(1, w.recorded+1).Draw(r, "task"))
}

// moment is in one of two zones: hosts have theirs.
func (w *model) moment(r *rapid.T) time.Time {
	return at(rapid.IntRange(0, 100).Draw(r, "minute")).In(pick(r, time.UTC, time.FixedZone("", 2*60*60)))
}

func pick[T any](r *rapid.T, from ...T) T { return rapid.SampledFrom(from).Draw(r, "one of") }

// checkGPUs: no two live tasks hold one GPU, and what is offered is what is registered, healthy and not held. A lost
// host offers nothing.
func (w *model) checkGPUs(v *View) {
	owner := map[string]string{}
	for _, live := range v.Tasks("") {
		if live.LastStatus == spec.Stopped {
			continue
		}
		for _, uuid := range live.GPUs() {
			if owner[uuid] != "" {
				w.Fatalf("%s belongs to %s and %s", uuid, owner[uuid], live.ID)
			}
			owner[uuid] = live.ID
		}
	}
	for _, host := range v.Hosts("") {
		var offered []string
		for _, device := range host.GPUs.Devices {
			if !host.Lost() && device.Health == gpu.Healthy && owner[device.UUID] == "" {
				offered = append(offered, device.UUID)
			}
		}
		if free := v.Free(host.ID); !slices.Equal(free.GPUs, offered) || free.CPU < 0 {
			w.Fatalf("host %s offers %v and %d CPU units, want %v", host.ID, free.GPUs, free.CPU, offered)
		}
	}
}

// checkLives: what was decided at placement never changes, statuses only grow, versions count the changes.
func (w *model) checkLives(before, after *View) {
	for _, was := range before.Tasks("") {
		is := after.Task(was.ID)
		switch {
		case is == nil && was.LastStatus != spec.Stopped:
			w.Fatalf("%s was forgotten while it was %s", was.ID, was.LastStatus)
		case is == nil || reflect.DeepEqual(is, was):
			continue
		case was.LastStatus == spec.Stopped:
			if is.Service == nil || !is.Service.Noted || was.Service.Noted { // which is its service's memory, in it
				w.Fatalf("%s changed after it was STOPPED", was.ID)
			}
		case is.LastStatus.Rank() < was.LastStatus.Rank() || is.Containers[0].LastStatus.Rank() < was.Containers[0].LastStatus.Rank():
			w.Fatalf("%s went from %s back to %s", was.ID, was.LastStatus, is.LastStatus)
		case was.DesiredStatus == spec.Stopped && is.DesiredStatus != spec.Stopped:
			w.Fatalf("%s is wanted again", was.ID)
		case is.Version <= was.Version:
			w.Fatalf("%s changed without a new version", was.ID)
		case was.HostID != "" && (is.HostID != was.HostID || !slices.Equal(is.GPUs(), was.GPUs())) || is.CPU != was.CPU:
			w.Fatalf("%s changed its place", was.ID)
		}
	}
}

// checkResults: a launch stands whole, or not at all.
func (w *model) checkResults(results []LaunchResult, v *View) {
	for _, result := range results {
		for _, launched := range result.Result.Tasks {
			if v.Task(launched.ID) == nil {
				w.Fatalf("%s is said to stand and is not there", launched.ID)
			}
		}
		for _, refused := range result.Refused {
			if v.Task(refused.ID) != nil {
				w.Fatalf("%s is said to be refused and is there", refused.ID)
			}
		}
		if (result.Err != nil || len(result.Refused) > 0) && len(result.Result.Tasks) > 0 {
			w.Fatalf("refused and launched at once: %+v", result)
		}
	}
}

// checkReplay: the same log gives the same state.
func (w *model) checkReplay() {
	other := NewState()
	for i, entry := range w.log {
		command, err := Decode(entry)
		if err != nil {
			w.Fatal(err)
		}
		_, _ = other.Apply(uint64(i+1), command) // refused here as it was there
	}
	if !bytes.Equal(snapshotOf(w, w.State), snapshotOf(w, other)) {
		w.Fatal("the same log gave another state")
	}
}

// checkRestore: a state restored from a snapshot is the same, and goes on the same way.
func (w *model) checkRestore() {
	other := &history{State: NewState(), log: slices.Clone(w.log)}
	if err := other.Restore(newReader(w.snapshot(w))); err != nil {
		w.Fatal(err)
	}
	for range 5 {
		next := w.command()
		_, here := w.try(w, next)
		if _, there := other.try(w, next); fmt.Sprint(here) != fmt.Sprint(there) {
			w.Fatalf("%T: %v here, %v in the restored state", next, here, there)
		}
		if !bytes.Equal(w.snapshot(w), other.snapshot(w)) {
			w.Fatalf("%T: the restored state is another", next)
		}
	}
}
