package raftfsm

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"
)

func TestUpdateClusterChangesWhatIsGiven(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{Cluster{Name: "lab", Settings: []Setting{{"containerInsights", "disabled"}}, Namespace: "old"}})
	logging := &ClusterConfiguration{ExecuteCommand: &ExecuteCommandConfiguration{Logging: "DEFAULT"}}
	h.do(t, UpdateCluster{Name: "lab", Configuration: logging})
	namespace := ""
	got := h.do(t, UpdateCluster{Name: "lab", Settings: []Setting{{"containerInsights", "enabled"}}, Namespace: &namespace}).(*Cluster)
	if !reflect.DeepEqual(got.Configuration, logging) || got.Namespace != "" || !slices.Equal(got.Settings, []Setting{{"containerInsights", "enabled"}}) {
		t.Errorf("%+v", got)
	}
	before := h.snapshot(t)
	h.do(t, UpdateCluster{Name: "lab", Settings: got.Settings})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("the same again changed the state")
	}
	if _, err := h.try(t, UpdateCluster{Name: "none"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown cluster: %v", err)
	}
}

func TestAClusterIsDeletedWhenNobodyNeedsIt(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{Cluster{Name: "lab"}})
	labHost := hostWith("h2", 1)
	labHost.Cluster = "lab"
	h.do(t, PutHost{labHost})
	work := task("t1", "h2")
	work.Cluster = "lab"
	h.launch(t, Launch{Cluster: "lab", Tasks: []*Task{work}})
	refused := func(name string, want error) {
		t.Helper()
		if _, err := h.try(t, DeleteCluster{Name: name, At: at(9)}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	refused("none", ErrNotFound)
	refused(DefaultCluster, ErrDefaultCluster)
	refused("lab", ErrClusterHasTasks)
	h.report(t, "h2", TaskReport{TaskID: "t1", Status: Stopped, Times: TaskTimes{Stopped: at(2)}})
	refused("lab", ErrClusterHasHosts)
	h.do(t, RemoveHost{ID: "h2", At: at(3)})
	gone := h.do(t, DeleteCluster{Name: "lab", At: at(9)}).(*Cluster)
	if gone.Status != ClusterInactive || !gone.DeletedAt.Equal(at(9)) {
		t.Errorf("%+v", gone)
	}
	if again := h.do(t, DeleteCluster{Name: "lab", At: at(10)}).(*Cluster); again != gone {
		t.Errorf("deleting it again changed it: %+v", again)
	}
	if _, err := h.try(t, UpdateCluster{Name: "lab"}); !errors.Is(err, ErrInactive) {
		t.Errorf("update: %v", err)
	}
}

func TestADeletedClusterIsForgottenLater(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{Cluster{Name: "lab"}})
	h.do(t, DeleteCluster{Name: "lab", At: at(9)})
	if h.View().Deleted(at(9)) || !h.View().Deleted(at(10)) {
		t.Error("it is time to forget it after minute 9")
	}
	h.do(t, Reap{Before: at(9)})
	if h.View().Cluster("lab") == nil {
		t.Fatal("forgotten too early")
	}
	h.do(t, Reap{Before: at(10)})
	if h.View().Cluster("lab") != nil || h.View().Cluster(DefaultCluster) == nil {
		t.Errorf("left: %+v", h.View().Clusters())
	}
}

func TestCreateClusterBringsADeletedOneBack(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{Cluster{Name: "lab", Tags: []Tag{{"k", "v"}}}})
	h.do(t, DeleteCluster{Name: "lab", At: at(1)})
	back := h.do(t, CreateCluster{Cluster{Name: "lab", CreatedAt: at(2)}}).(*Cluster)
	if back.Status != ClusterActive || !back.CreatedAt.Equal(at(2)) || !back.DeletedAt.IsZero() || back.Tags != nil {
		t.Errorf("%+v", back)
	}
}
