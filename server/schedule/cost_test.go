package schedule

import (
	"fmt"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// wiredHost has n GPUs with links of one kind between all of them.
func wiredHost(id string, n int, kind gpu.LinkKind, lanes int) Host {
	return host(id, n, func(h *spec.Host) {
		for i := range h.GPUs.Devices {
			for peer := range n {
				if peer != i {
					link := gpu.Link{Peer: fmt.Sprintf("%s-gpu%d", id, peer), Kind: kind, Lanes: lanes}
					h.GPUs.Devices[i].Links += gpu.PackLinks(link)
				}
			}
		}
	})
}

// history gives a fleet tasks that take so many GPUs each, on hosts that are full of them.
func history(hosts []Host, tasks, gpus int) []Host {
	for i := range tasks {
		full := host(fmt.Sprintf("full%d", i), gpus)
		task := &spec.Task{ID: fmt.Sprint(i), LastStatus: spec.Running, DesiredStatus: spec.Running, CPU: 100,
			Containers: []spec.Container{{GPUs: full.Free.GPUs}}}
		full.Free.Take(task)
		full.Tasks = func() []*spec.Task { return []*spec.Task{task} }
		hosts = append(hosts, full)
	}
	return hosts
}

func TestHostsAreKeptWholeForTheUsualTasks(t *testing.T) {
	four, six := used(host("a", 8), 4, 0), used(host("b", 8), 2, 0)
	// Nobody knows anything: the host with the least GPUs left.
	wantPlaces(t, plan([]Host{four, six}, request(1, 2)), "a")
	// Tasks of four GPUs come again and again: where six are free two are of no use to them.
	wantPlaces(t, plan(history([]Host{four, six}, 10, 4), request(1, 2)), "b")
	// Tasks of six do: where four are free none is.
	wantPlaces(t, plan(history([]Host{four, six}, 10, 6), request(1, 2)), "a")
}

func TestCPUBesideFreeGPUsIsKeptForThem(t *testing.T) {
	scarce, plenty := host("a", 4), host("b", 4, func(h *spec.Host) { h.CPU *= 4 })
	r := request(1, 1)
	r.Definition.Containers[0].CPU = 2000 // the other three GPUs of a would have a core and a half each
	thirsty := history(nil, 10, 1)
	for i := range thirsty {
		thirsty[i].Tasks()[0].CPU = 1024
	}
	wantPlaces(t, plan(append(thirsty, scarce, plenty), r), "b")
}

func TestBetterLinksWinAmongEquals(t *testing.T) {
	far, near := wiredHost("a", 4, gpu.LinkSystem, 0), wiredHost("b", 4, gpu.LinkNVLink, 18)
	wantPlaces(t, plan([]Host{far, near}, request(1, 1)), "a") // one GPU has no links
	wantPlaces(t, plan([]Host{far, near}, request(1, 2)), "b")
	// Not at the price of a host that tasks of four will need.
	fits := used(wiredHost("a", 4, gpu.LinkSystem, 0), 2, 0)
	wantPlaces(t, plan(history([]Host{fits, near}, 10, 4), request(1, 2)), "a")
}
