package raftfsm

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestUpdateClusterChangesWhatIsGiven(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab", Settings: []spec.Setting{{Name: "containerInsights", Value: "disabled"}}, Namespace: "old"}})
	logging := &spec.ClusterConfiguration{ExecuteCommand: &spec.ExecuteCommandConfiguration{Logging: "DEFAULT"}}
	h.do(t, UpdateCluster{Name: "lab", Configuration: logging})
	namespace := ""
	got := h.do(t, UpdateCluster{Name: "lab", Settings: []spec.Setting{{Name: "containerInsights", Value: "enabled"}}, Namespace: &namespace}).(*spec.Cluster)
	if !reflect.DeepEqual(got.Configuration, logging) || got.Namespace != "" || !slices.Equal(got.Settings, []spec.Setting{{Name: "containerInsights", Value: "enabled"}}) {
		t.Errorf("%+v", got)
	}
	before := h.snapshot(t)
	h.do(t, UpdateCluster{Name: "lab", Settings: got.Settings})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("the same again changed the state")
	}
	if _, err := h.try(t, UpdateCluster{Name: "none"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("unknown cluster: %v", err)
	}
}

func TestAClusterIsDeletedWhenNobodyNeedsIt(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	labHost := hostWith("h2", 1)
	labHost.Cluster = "lab"
	h.do(t, PutHost{labHost})
	work := task("t1", "h2")
	work.Cluster = "lab"
	h.launch(t, Launch{Cluster: "lab", Tasks: []*spec.Task{work}})
	refused := func(name string, want error) {
		t.Helper()
		if _, err := h.try(t, DeleteCluster{Name: name, At: at(9)}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	refused("none", spec.ErrNotFound)
	refused(spec.DefaultCluster, spec.ErrDefaultCluster)
	refused("lab", spec.ErrClusterHasTasks)
	h.report(t, "h2", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	refused("lab", spec.ErrClusterHasHosts)
	h.do(t, RemoveHost{ID: "h2", At: at(3)})
	gone := h.do(t, DeleteCluster{Name: "lab", At: at(9)}).(*spec.Cluster)
	if gone.Status != spec.ClusterInactive || !gone.DeletedAt.Equal(at(9)) {
		t.Errorf("%+v", gone)
	}
	if again := h.do(t, DeleteCluster{Name: "lab", At: at(10)}).(*spec.Cluster); again != gone {
		t.Errorf("deleting it again changed it: %+v", again)
	}
	if _, err := h.try(t, UpdateCluster{Name: "lab"}); !errors.Is(err, spec.ErrInactive) {
		t.Errorf("update: %v", err)
	}
}

func TestADeletedClusterIsForgottenLater(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	h.do(t, DeleteCluster{Name: "lab", At: at(9)})
	if h.View().HasExpired(Reap{Before: at(9)}) || !h.View().HasExpired(Reap{Before: at(10)}) {
		t.Error("it is time to forget it after minute 9")
	}
	h.do(t, Reap{Before: at(9)})
	if h.View().Cluster("lab") == nil {
		t.Fatal("forgotten too early")
	}
	h.do(t, Reap{Before: at(10)})
	if h.View().Cluster("lab") != nil || h.View().Cluster(spec.DefaultCluster) == nil {
		t.Errorf("left: %+v", h.View().Clusters())
	}
}

func TestCreateClusterBringsADeletedOneBack(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab", Tags: []spec.Tag{{Key: "k", Value: "v"}}}})
	h.do(t, DeleteCluster{Name: "lab", At: at(1)})
	back := h.do(t, CreateCluster{spec.Cluster{Name: "lab", CreatedAt: at(2)}}).(*spec.Cluster)
	if back.Status != spec.ClusterActive || !back.CreatedAt.Equal(at(2)) || !back.DeletedAt.IsZero() || back.Tags != nil {
		t.Errorf("%+v", back)
	}
}
