package api

import (
	"encoding/json"
	"net/http"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// gpus lists every GPU of every cluster, or of ?cluster=NAME: the fields of gpu.Device, the host's name and id, whether
// it is simulated, and which task's container owns it, if any.
func (d *door) gpus(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	cluster, err := who.clusterOf(r)
	if err != nil {
		return err
	}
	views := []map[string]any{}
	for _, host := range who.view.Hosts(cluster) {
		owners := gpuOwners(who.view, host.ID)
		for _, device := range host.GPUs.Devices {
			view, err := jsonFields(device)
			if err != nil {
				return err
			}
			view["host"], view["hostId"], view["simulated"] = host.Name, host.ID, host.GPUs.Simulated
			if o, owned := owners[device.UUID]; owned {
				view["task"], view["container"] = o.task, o.container
			}
			views = append(views, view)
		}
	}
	d.reply(w, r, typeJSON, http.StatusOK, views)
	return nil
}

type gpuOwner struct{ task, container string }

// gpuOwners says who holds the GPUs of a host.
func gpuOwners(view *raftfsm.View, hostID string) map[string]gpuOwner {
	owners := map[string]gpuOwner{}
	for _, task := range view.TasksOn(hostID) {
		if task.LastStatus == spec.Stopped {
			continue
		}
		for _, container := range task.Containers {
			for _, uuid := range container.GPUs {
				owners[uuid] = gpuOwner{task.ID, container.Name}
			}
		}
	}
	return owners
}

// jsonFields are the JSON members of a noun that this room may not name.
func jsonFields(noun any) (map[string]any, error) {
	text, err := json.Marshal(noun)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(text, &fields)
}
