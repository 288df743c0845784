package api

import (
	"net/http"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// ofTask makes a handler for what only the host of a task can tell. Who asks and for what is checked where the state
// is; a request for another host's task then goes there with the leader's word for it, since a host that is no server
// could not check it.
func (d *door) ofTask(answer taskHandler) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
		task := who.view.Task(r.PathValue("id"))
		if task == nil {
			return wire.Errorf(notFound, "There is no task %s. Stopped tasks are forgotten after an hour.", r.PathValue("id"))
		}
		if err := who.bound.Check(who.principal, task.Cluster); err != nil {
			return err
		}
		if err := checkContainer(task, r.URL.Query().Get("container")); err != nil {
			return err
		}
		if d.Forward == nil || task.HostID == "" || task.HostID == d.HostID {
			return answer(w, r, task.ID)
		}
		return d.deliver(w, r, task, who.view.Host(task.HostID))
	}
}

// deliver has the task's host answer a request that was checked here.
func (d *door) deliver(w http.ResponseWriter, r *http.Request, task *spec.Task, host *spec.Host) error {
	if host == nil {
		return wire.Errorf(notFound, "The host that ran task %s was removed from the pool, and the task's logs with it.", task.ID)
	}
	header := headersOf(r)
	header.Del("Authorization") // a Bearer key is none of that host's business
	header.Set(authorizedByHeader, d.HostID)
	answer, end, err := d.ask(r, host.Address, header, nil)
	defer end()
	if err != nil {
		return wire.Errorf(wire.Server, "Task %s is on host %s, which cannot be reached at %s: %v. Its logs are there; try again when it is back.", task.ID, host.Name, host.Address, err)
	}
	d.relay(w, r, answer, end)
	return nil
}

func checkContainer(task *spec.Task, name string) error {
	var names []string
	for _, container := range task.Containers {
		if name == "" || container.Name == name {
			return nil
		}
		names = append(names, container.Name)
	}
	if name == "" {
		return nil
	}
	return wire.Errorf(wire.InvalidParameter, "Task %s has no container %q; it has %s.", task.ID, name, strings.Join(names, ", "))
}
