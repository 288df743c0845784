package prefetch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

const model = "registry.lab:5000/team/model"

// deployed is a pool with hosts a, b and c, and the service web, whose tasks on a and b have model:1 and whose deployment of model:2 has just begun.
func deployed(t *testing.T) *raftfsmtest.State {
	s := raftfsmtest.New(t)
	for _, id := range []string{"a", "b", "c"} {
		s.Do(raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 9999, MemoryMiB: 9999}})
	}
	for _, tag := range []string{"1", "2"} {
		s.Do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "web", Containers: []spec.ContainerDefinition{
			{Name: "main", Image: model + ":" + tag, Memory: 4},
			{Name: "sidecar", Image: "pinion/self", Memory: 4},
			{Name: "private", Image: "registry.lab:5000/private", Memory: 4, RepositoryCredentials: &valuefrom.RepositoryCredentials{CredentialsParameter: "login"}},
		}}})
	}
	s.Do(raftfsm.CreateService{
		Service:  service.Service{ID: "s", Cluster: spec.DefaultCluster, Name: "web", Strategy: service.Replica, Desired: 2},
		Revision: service.Revision{ID: "1", Definition: "web:1"}, Rollout: service.Rollout{ID: "1", CreatedAt: raftfsmtest.At(1)},
	})
	start(s, "web:1", "1", "a", "b")
	s.Do(raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "web", At: raftfsmtest.At(2), Change: service.Change{
		Revision: &service.Revision{ID: "2", Definition: "web:2"}, Rollout: &service.Rollout{ID: "2", CreatedAt: raftfsmtest.At(2)},
	}})
	return s
}

// start places tasks of a deployment of the service on hosts.
func start(s *raftfsmtest.State, definition, deployment string, hosts ...string) (ids []string) {
	var tasks []*spec.Task
	for _, host := range hosts {
		id := deployment + host
		tasks = append(tasks, &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: definition, HostID: host, LastStatus: spec.Pending, DesiredStatus: spec.Running,
			Service: &spec.ServiceMember{ID: "s", Deployment: deployment}, Containers: []spec.Container{{Name: "main", Image: model}, {Name: "sidecar"}, {Name: "private"}}})
		ids = append(ids, id)
	}
	s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: tasks, At: raftfsmtest.At(3)}}})
	return ids
}

func TestHostsOfADeploymentThatIsReplacedFetchTheNextOne(t *testing.T) {
	s := deployed(t)
	both := func(ref string) hostImages { return hostImages{"a": {ref}, "b": {ref}} }
	check := func(when string, want hostImages) {
		t.Helper()
		if got := wanted(s.View(), nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, not %v", when, got, want)
		}
	}
	check("before any of its tasks has a place", both(model+":2"))
	imported := deployed(t)
	kept := "sha256:" + strings.Repeat("3", 64)
	raftfsmtest.Change(imported, image.Put{Image: image.Image{Name: model + ":2", Digest: kept, Imported: true, Copies: 1}})
	if got, want := wanted(imported.View(), nil), both(model+":2@"+kept); !reflect.DeepEqual(got, want) {
		t.Errorf("an imported image, of which no registry is asked: %v, not %v", got, want)
	}
	first := start(s, "web:2", "2", "c")[0]
	check("while the first one asks what the tag means", hostImages{})
	digest := "sha256:" + strings.Repeat("2", 64)
	s.Do(raftfsm.ReportTasks{HostID: "c", Reports: []spec.TaskReport{{TaskID: first, Status: spec.Pending, Containers: []spec.ContainerReport{{Name: "main", ImageDigest: digest}}}}})
	check("when it is known", both(model+":2@"+digest))
	s.Do(raftfsm.UpdateCluster{Name: spec.DefaultCluster, Settings: []spec.Setting{{Name: spec.SettingAllowedImages, Value: "registry.lab:5000/other"}}})
	check("when the cluster may not have it", hostImages{})
}

func TestHostsWithRoomForAWaitingTaskFetchItsImage(t *testing.T) {
	s := deployed(t)
	waiting := &spec.Task{ID: "w", Cluster: spec.DefaultCluster, Definition: "web:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running, Queue: &spec.QueueSpec{},
		Containers: []spec.Container{{Name: "main", ImageDigest: "sha256:" + strings.Repeat("1", 64)}}}
	s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{waiting}, At: raftfsmtest.At(3)}}})
	got := wanted(s.View(), []Reservation{{TaskID: "w", Hosts: []string{"b", "c"}}, {TaskID: "gone", Hosts: []string{"c"}}})
	ref := model + ":1@sha256:" + strings.Repeat("1", 64)
	if want := (hostImages{"a": {model + ":2"}, "b": {model + ":2", ref}, "c": {ref}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestAHostIsToldOfABoundedNumberOfImages(t *testing.T) {
	all := hostImages{}
	for i := range 100 {
		all.add("h", []string{fmt.Sprint(i), "again"})
	}
	if len(all["h"]) != blob.MaxPrefetch {
		t.Errorf("%d images", len(all["h"]))
	}
}

// hosts stands in for those of a pool.
type hosts struct {
	mu   sync.Mutex
	away map[string]bool // not connected
	mute map[string]bool // connected, and every call fails
	told []string        // "host images"

	refused int // calls that failed
}

func (h *hosts) send(_ context.Context, host string, images []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mute[host] {
		h.refused++
		return errors.New("it does not answer")
	}
	h.told = append(h.told, fmt.Sprint(host, images))
	return nil
}

// since is what was told since the last call, in any order.
func (h *hosts) since() (told []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told, h.told = slices.Sorted(slices.Values(h.told)), nil
	return told
}

func (h *hosts) set(of *map[string]bool, all map[string]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*of = all
}

func TestHostsAreToldWhatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := deployed(t), &hosts{mute: map[string]bool{"b": true}}
		p := &Prefetcher{State: s.State, Reservations: func() []Reservation { return nil }, Send: h.send, Log: slog.New(slog.DiscardHandler), Connected: func(host string) bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return !h.away[host]
		}}
		term, lost := context.WithCancel(t.Context())
		go p.Loop(term)
		pass := func(when string, want ...string) {
			t.Helper()
			time.Sleep(3 * interval)
			synctest.Wait()
			if got := h.since(); !slices.Equal(got, want) {
				t.Errorf("%s: %v, not %v", when, got, want)
			}
		}
		pass("one host does not answer, one has nothing to fetch", "a["+model+":2]")
		h.set(&h.mute, nil)
		pass("it answers again", "b["+model+":2]")
		pass("nothing changes")
		h.set(&h.away, map[string]bool{"a": true})
		pass("a host is away")
		h.set(&h.away, nil)
		pass("it is back, and may have been started anew", "a["+model+":2]")
		h.set(&h.away, map[string]bool{"b": true})
		pass("another one is away")
		start(s, "web:2", "2", "c")
		pass("nothing is wanted any more", "a[]")
		pass("which is said once")
		h.set(&h.away, nil)
		pass("it is back, and fetches what it was told", "b[]")
		lost()
		go p.Loop(t.Context())
		pass("another leader has nothing for them")
	})
}

// Hosts that cannot be told, as those of an older program, cost a call a minute each and not one a second.
func TestAHostThatDoesNotAnswerIsCalledLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := deployed(t), &hosts{mute: map[string]bool{"b": true}}
		p := &Prefetcher{State: s.State, Reservations: func() []Reservation { return nil }, Send: h.send, Log: slog.New(slog.DiscardHandler), Connected: func(string) bool { return true }}
		go p.Loop(t.Context())
		time.Sleep(time.Hour)
		synctest.Wait()
		if h.refused < 60 || h.refused > 70 {
			t.Errorf("called %d times in an hour", h.refused)
		}
	})
}
