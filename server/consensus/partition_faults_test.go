package consensus

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
)

// injectFaults breaks the network in one way after the other, sometimes with peace between them.
func (p *simulation) injectFaults(ctx context.Context) {
	random := rand.New(rand.NewPCG(p.seed, 100))
	if p.behind {
		p.leaveBehind(ctx)
	}
	for ctx.Err() == nil {
		p.strike.Notify()
		time.Sleep(time.Duration(random.Int64N(int64(2 * maxLatency))))
		p.mesh.set(p.randomPartition(random))
		p.cuts++
		if random.IntN(8) == 0 { // as if a server took its leader for ended that is not
			p.servers[random.IntN(len(p.servers))].failover.campaignNow()
		}
		hold(ctx, random)
		if random.IntN(2) == 0 {
			p.mesh.set(func(route) bool { return false })
			hold(ctx, random)
		}
	}
}

// leaveBehind cuts one server off while so much is recorded, and then until Raft has looked whether to write a snapshot,
// that the server needs one to catch up. What is recorded changes nothing.
func (p *simulation) leaveBehind(ctx context.Context) {
	const snapshotWait = 5 * time.Minute // more than twice raft.Config.SnapshotInterval
	absent := p.address(len(p.servers) - 1)
	p.mesh.set(func(r route) bool { return r.from == absent || r.to == absent })
	for range snapshotThreshold / maxAppendEntries * 5 / 4 {
		var batch sync.WaitGroup
		for range maxAppendEntries {
			batch.Go(func() { p.servers[0].Propose(ctx, raftfsm.DeregisterDefinition{Name: "none:1"}) })
		}
		batch.Wait()
	}
	time.Sleep(snapshotWait)
}

// hold lets things be for a moment or, rarely, for minutes.
func hold(ctx context.Context, random *rand.Rand) {
	longest := 10 * time.Second
	switch random.IntN(20) {
	case 0:
		longest = 5 * time.Minute
	case 1, 2, 3, 4, 5:
		longest = time.Second
	}
	select {
	case <-time.After(time.Duration(random.Int64N(int64(longest)))):
	case <-ctx.Done():
	}
}

// randomPartition is which routes are cut: at random, around one server, or between groups of them.
func (p *simulation) randomPartition(random *rand.Rand) func(route) bool {
	one := p.victim(random)
	group, bridge := map[raft.ServerAddress]int{}, p.address(random.IntN(len(p.servers)))
	cut := map[route]bool{}
	share := random.Float64()
	for i := range p.servers {
		group[p.address(i)] = random.IntN(2)
		for j := range p.servers {
			cut[route{p.address(i), p.address(j)}] = random.Float64() < share
		}
	}
	around := func(r route) bool { return r.to == one || r.from == one }
	apart := func(r route) bool { return group[r.from] != group[r.to] }
	kinds := []func(route) bool{
		func(r route) bool { return cut[r] },
		func(r route) bool { return cut[r] || cut[route{r.to, r.from}] },
		func(r route) bool { return r.to == one },
		func(r route) bool { return r.from == one },
		around,
		func(r route) bool { return around(r) && cut[r] },
		apart,
		func(r route) bool { return apart(r) && group[r.from] == 0 },
		func(r route) bool { return apart(r) && r.from != bridge && r.to != bridge },
	}
	return kinds[random.IntN(len(kinds))]
}

// victim is a server, more often than not the one that leads.
func (p *simulation) victim(random *rand.Rand) raft.ServerAddress {
	chosen := p.address(random.IntN(len(p.servers)))
	if random.IntN(3) > 0 {
		for i, s := range p.servers {
			if s.Leads() {
				chosen = p.address(i)
			}
		}
	}
	return chosen
}

func (p *simulation) address(n int) raft.ServerAddress {
	return raft.ServerAddress(p.servers[n].cfg.Address)
}
