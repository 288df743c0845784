package rollout

import (
	"testing"

	"pinion/raftfsm/service"
)

// BenchmarkNext is one look at a service of 2,000 tasks in the middle of a rollout that has no room, in which nothing has to be done.
func BenchmarkNext(b *testing.B) {
	p := newPool(b, 100, 20)
	p.create(service.Service{Desired: 2000, Settings: percents(100, 200)}, "checked:1")
	p.run(10)
	p.deploy("checked:2")
	p.run(10)
	if n := len(p.live()); n != 4000 {
		b.Fatalf("%d tasks", n)
	}
	for b.Loop() {
		if _, _, changes := Next(p.View(), p.web(), p.facts()); changes {
			b.Fatal("it changes something")
		}
	}
}
