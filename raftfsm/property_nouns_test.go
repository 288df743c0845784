package raftfsm

import "pgregory.net/rapid"

// ofNouns is a command about clusters, definitions, tags and attributes.
func (w *world) ofNouns(r *rapid.T) Command {
	host, cluster := pick(r, "h1", "h2", "h3"), pick(r, DefaultCluster, "lab", "none")
	attribute := []HostAttribute{{host, pick(r, "rack", "row"), pick(r, "", "7")}, {pick(r, "h1", "h9"), "spot", ""}}
	return pick[Command](r,
		UpdateCluster{Name: cluster, Settings: []Setting{{"containerInsights", pick(r, "enabled", "disabled")}}},
		DeleteCluster{Name: cluster, At: w.moment(r)},
		DeleteCluster{Name: "lab", At: w.moment(r)},
		DeleteDefinitions{Names: []string{pick(r, "gpu:1", "gpu:2", "gpu:3", "cpu:1")}, At: w.moment(r)},
		SetTags{Kind: TaggedTask, ID: w.task(r), Put: []Tag{{pick(r, "a", "b"), pick(r, "", "x")}}, Remove: []string{pick(r, "a", "b")}},
		SetTags{Kind: TaggedHost, ID: host, Put: []Tag{{"a", "x"}}},
		SetTags{Kind: TaggedCluster, ID: cluster, Put: []Tag{{"a", "x"}}},
		PutAttributes{attribute},
		DeleteAttributes{attribute},
		PutAccountSetting{AccountSetting{Name: "containerInsights", Value: pick(r, "enabled", "disabled"), Principal: pick(r, "", "me")}},
		DeleteAccountSetting{Name: "containerInsights", Principal: pick(r, "", "me")},
	)
}

// checkNouns: what others refer to is there.
func (w *world) checkNouns(v *View) {
	for _, host := range v.Hosts("") {
		if err := v.active(host.Cluster); err != nil {
			w.Fatalf("host %s: %v", host.ID, err)
		}
		if len(host.Custom) > MaxCustom {
			w.Fatalf("host %s has %d custom attributes", host.ID, len(host.Custom))
		}
	}
	for _, task := range v.Tasks("") {
		if v.Definition(task.Definition) == nil {
			w.Fatalf("task %s is of %s, which was forgotten", task.ID, task.Definition)
		}
	}
	if v.Cluster(DefaultCluster) == nil {
		w.Fatal("the default cluster is gone")
	}
}
