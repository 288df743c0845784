package api

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// fakeVolumes has the volumes that it was given, and one that a task has.
type fakeVolumes map[string]bool

func (v fakeVolumes) RemoveVolume(name string) error {
	if used, is := v[name]; !is {
		return fmt.Errorf("volume %s: %w", name, spec.ErrNotFound)
	} else if used {
		return fmt.Errorf("volume %s: %w", name, spec.ErrInUse)
	}
	delete(v, name)
	return nil
}

// Who sees a host sees its shared volumes; an administrator of the whole pool removes them, unless a task has them.
func TestVolumesAreRemovedByAdministratorsOfThePoolAlone(t *testing.T) {
	b := newImagesFixture(t)
	b.config.Trusted = false
	volumes := fakeVolumes{"models": false, "used": true}
	b.config.Agent.Volumes = volumes
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	host := *b.state.View().Host(hostID)
	host.SharedVolumes = []string{"models", "used"}
	b.mustApply(t, raftfsm.PutHost{Host: host})
	list := func(bearer string) string {
		return b.as(bearer, httptest.NewRequest("GET", "/v1/volumes", nil)).Body.String()
	}
	remove := func(bearer, name string) int {
		return b.as(bearer, httptest.NewRequest("POST", "/v1/admin/hosts/"+hostID+"/volumes/remove?name="+name, strings.NewReader("{}"))).Code
	}
	read := b.withKey(t, accesskey.Key{ID: "AKIAREAD", Role: accesskey.RoleRead})
	lab := b.withKey(t, accesskey.Key{ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"})
	submit := b.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit})
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	if !strings.Contains(list(read), `"models"`) || strings.Contains(list(lab), "models") {
		t.Errorf("%s; another cluster sees %s", list(read), list(lab))
	}
	for name, bearer := range map[string]string{"read": read, "submit": submit, "admin of another cluster": lab} {
		if code := remove(bearer, "models"); code < 400 || len(volumes) != 2 {
			t.Errorf("%s: %d", name, code)
		}
	}
	for name, want := range map[string]int{"models": 200, "used": 400, "none": 404} {
		if code := remove(admin, name); code != want {
			t.Errorf("%s: %d", name, code)
		}
	}
	if len(volumes) != 1 {
		t.Errorf("left are %v", volumes)
	}
}
