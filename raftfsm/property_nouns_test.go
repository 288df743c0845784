package raftfsm

import (
	"pgregory.net/rapid"

	"pinion/raftfsm/accountsetting"
	"pinion/raftfsm/image"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/spec"
)

// ofNouns is a command about clusters, definitions, tags and attributes.
func (w *model) ofNouns(r *rapid.T) Command {
	host, cluster := pick(r, "h1", "h2", "h3"), pick(r, spec.DefaultCluster, "lab", "none")
	attribute := []spec.HostAttribute{{HostID: host, Name: pick(r, "rack", "row"), Value: pick(r, "", "7")}, {HostID: pick(r, "h1", "h9"), Name: "spot", Value: ""}}
	return pick[Command](r,
		UpdateCluster{Name: cluster, Settings: []spec.Setting{{Name: "containerInsights", Value: pick(r, "enabled", "disabled")}}},
		DeleteCluster{Name: cluster, At: w.moment(r)},
		DeleteCluster{Name: "lab", At: w.moment(r)},
		DeleteDefinitions{Names: []string{pick(r, "gpu:1", "gpu:2", "gpu:3", "cpu:1")}, At: w.moment(r)},
		SetTags{Kind: spec.ResourceTask, ID: w.task(r), Put: []spec.Tag{{Key: pick(r, "a", "b"), Value: pick(r, "", "x")}}, Remove: []string{pick(r, "a", "b")}},
		SetTags{Kind: spec.ResourceHost, ID: host, Put: []spec.Tag{{Key: "a", Value: "x"}}},
		SetTags{Kind: spec.ResourceCluster, ID: cluster, Put: []spec.Tag{{Key: "a", Value: "x"}}},
		PutAttributes{attribute},
		DeleteAttributes{attribute},
		Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: pick(r, "enabled", "disabled"), Principal: pick(r, "", "me")}}),
		Wrap(accountsetting.Delete{Name: "containerInsights", Principal: pick(r, "", "me")}),
		Wrap(loggroup.Create{Group: loggroup.Group{Name: pick(r, "g", "h"), CreatedAt: w.moment(r)}}),
		Wrap(loggroup.SetRetention{Name: pick(r, "g", "h"), Days: pick(r, 0, 3, 7)}),
		Wrap(loggroup.Delete{Name: pick(r, "g", "h")}),
		Wrap(image.Put{Image: image.Image{Name: pick(r, "docker.io/library/busybox:latest", "i"), Digest: pick(r, "sha256:1", "sha256:2"), Imported: pick(r, true, false)}}),
		Wrap(image.Delete{Name: pick(r, "docker.io/library/busybox:latest", "i")}),
	)
}

// checkNouns: what others refer to is there.
func (w *model) checkNouns(v *View) {
	for _, host := range v.Hosts("") {
		if err := v.checkActive(host.Cluster); err != nil {
			w.Fatalf("host %s: %v", host.ID, err)
		}
		if len(host.CustomAttributes) > spec.MaxCustomAttributes {
			w.Fatalf("host %s has %d custom attributes", host.ID, len(host.CustomAttributes))
		}
	}
	for _, task := range v.Tasks("") {
		if v.Definition(task.Definition) == nil {
			w.Fatalf("task %s is of %s, which was forgotten", task.ID, task.Definition)
		}
	}
	if v.Cluster(spec.DefaultCluster) == nil {
		w.Fatal("the default cluster is gone")
	}
}
