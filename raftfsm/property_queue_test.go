package raftfsm

import (
	"fmt"

	"pgregory.net/rapid"

	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskupdate"
	"pinion/raftfsm/team"
)

// ofQueue is a command about tasks that wait, queues and teams.
func (w *model) ofQueue(r *rapid.T) Command {
	name, quota := pick(r, "night", "day", spec.BuiltinCapacityProvider), rapid.IntRange(-1, 4).Draw(r, "quota")
	again := waiting(fmt.Sprintf("r%03d", rapid.IntRange(1, 20).Draw(r, "again")), 1)
	again.RetryOf, again.Attempt = w.task(r), rapid.IntRange(0, 3).Draw(r, "attempt")
	again.Queue.UnmetDependencies = pick(r, nil, []string{"a"}, []string{"a", "group:b"})
	return pick[Command](r,
		w.placeTasks(r), w.placeTasks(r), w.placeTasks(r),
		RetryTasks{[]*spec.Task{again}},
		ResolveDependencies{[]Resolution{{w.task(r), []string{"a"}}, {again.ID, []string{"group:b"}}}},
		Wrap(capacityprovider.Create{Provider: capacityprovider.Provider{Name: name, CreatedAt: w.moment(r)}}),
		Wrap(capacityprovider.Update{Name: name, AutoScaling: &capacityprovider.AutoScaling{ARN: pick(r, "a", "b")}}),
		Wrap(capacityprovider.Delete{Name: name, At: w.moment(r)}),
		PutClusterCapacityProviders{Cluster: spec.DefaultCluster, Providers: pick(r, nil, []string{name}), Strategy: pick(r, nil, []spec.CapacityProviderStrategyItem{{CapacityProvider: name}})},
		Wrap(team.Put{Team: team.Team{Name: pick(r, "a", "b"), GPUs: &quota, Weight: rapid.IntRange(0, 2).Draw(r, "weight")}}),
		Wrap(team.Delete{Name: pick(r, "a", "b")}),
		w.editTasks(r), w.editTasks(r),
	)
}

func (w *model) editTasks(r *rapid.T) Command {
	return EditTasks{[]string{w.task(r), w.task(r)}, pick(r,
		taskupdate.Update{Hold: &spec.TaskHold{By: "x", At: w.moment(r), Admin: rapid.Bool().Draw(r, "admin")}},
		taskupdate.Update{Release: &taskupdate.Release{Admin: rapid.Bool().Draw(r, "admin")}},
		taskupdate.Update{Priority: new(rapid.IntRange(0, 100).Draw(r, "priority"))},
		taskupdate.Update{Requeue: &taskupdate.Requeue{Reason: "requeued", At: w.moment(r)}},
	)}
}

func (w *model) placeTasks(r *rapid.T) Command {
	var c PlaceTasks
	for range rapid.IntRange(1, 2).Draw(r, "groups") {
		var group []spec.Placement
		for range rapid.IntRange(1, 3).Draw(r, "tasks") {
			host := w.host(r)
			gpu := fmt.Sprintf("%s-gpu%d", host, rapid.IntRange(0, 3).Draw(r, "gpu"))
			group = append(group, spec.Placement{TaskID: w.task(r), HostID: host, GPUs: pick(r, nil, [][]string{{gpu}})})
		}
		c.Groups = append(c.Groups, group)
	}
	return c
}

// checkQueue: who waits has no place and holds nothing, and every attempt is there once.
func (w *model) checkQueue(v *View) {
	attempts := map[string]bool{}
	for _, t := range v.Tasks("") {
		switch {
		case t.LastStatus == spec.Provisioning && (t.HostID != "" || len(t.GPUs()) > 0):
			w.Fatalf("%s waits and has a place: %+v", t.ID, t)
		case t.LastStatus != spec.Provisioning && t.LastStatus != spec.Stopped && t.HostID == "":
			w.Fatalf("%s is %s without a host", t.ID, t.LastStatus)
		}
		if t.RetryOf == "" {
			continue
		}
		attempt := fmt.Sprint(t.RetryOf, " ", t.Attempt)
		if attempts[attempt] {
			w.Fatalf("attempt %s is there twice", attempt)
		}
		attempts[attempt] = true
	}
	for _, cluster := range v.Clusters() {
		for _, item := range cluster.DefaultStrategy {
			if provider := capacityprovider.Find(v, item.CapacityProvider); provider == nil || provider.Status != capacityprovider.Active {
				w.Fatalf("cluster %s goes by capacity provider %s, which is not there", cluster.Name, item.CapacityProvider)
			}
		}
	}
}
