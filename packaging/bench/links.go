//go:build cgo

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"pinion/gpu"
)

const (
	madeUp    = 10 // machines drawn of each size
	freeSets  = 5  // free sets drawn of each machine and number
	mostDrawn = 12 // free GPUs of a drawn set at most: NVIDIA's policy takes seconds from 14 up
)

// measureLinks chooses GPUs beside NVIDIA's best-effort policy: from every model and from made-up machines.
func measureLinks(ctx context.Context, o options) ([]figure, error) {
	machines, err := openMachines(ctx)
	if err != nil {
		return nil, err
	}
	chance := rand.New(rand.NewPCG(1, 2)) // the same machines each time
	for _, size := range []int{2, 4, 8, 16} {
		for range madeUp {
			machines = append(machines, makeUp(size, chance))
		}
	}
	all := newContest()
	var large []wired
	for _, m := range machines {
		if err := all.drawn(ctx, m, chance); err != nil {
			return nil, err
		}
		if len(m.devices) == 16 && len(large) < 3 {
			large = append(large, m)
		}
	}
	speed, err := all.fourOfSixteen(ctx, large, o.rounds)
	return append(all.figures(), speed...), err
}

// contest compares the two choosers, by the score of NVIDIA's library.
type contest struct {
	boards        gpu.TopologyCache
	cases, better int
	inside        float64 // our score of the set / theirs, the lowest of all cases
	short         int     // cases where theirs gave fewer GPUs than asked for
	alike         int     // cases of as many GPUs with the same score
	rest          float64 // the score of what stays free, ours / theirs, the lowest of the cases alike
}

func newContest() *contest { return &contest{inside: math.Inf(1), rest: math.Inf(1)} }

// drawn compares every number of a machine's GPUs, from drawn free sets.
func (c *contest) drawn(ctx context.Context, m wired, chance *rand.Rand) error {
	theirs, board := newBestEffort(m.devices), c.boards.Topology(m.devices)
	most := min(len(m.devices), mostDrawn)
	for n := 1; n <= most; n++ {
		for range freeSets {
			free := drawSet(len(m.devices), n+chance.IntN(most-n+1), chance)
			c.compare(theirs, free, theirs.pick(free, n), board.Pick(free, n))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (c *contest) compare(theirs bestEffort, free, their, our gpu.DeviceSet) {
	c.cases++
	inside := ratio(theirs.score(our), theirs.score(their))
	c.inside = min(c.inside, inside)
	switch {
	case their.Len() < our.Len():
		c.short++
	case inside > 1:
		c.better++
	case inside == 1:
		c.alike++
		c.rest = min(c.rest, ratio(theirs.score(free&^our), theirs.score(free&^their)))
	}
}

// ratio of two scores; nothing beside nothing is as good.
func ratio(ours, theirs int) float64 {
	if ours == theirs {
		return 1
	}
	return float64(ours) / float64(theirs)
}

func (c *contest) figures() []figure {
	cases := fmt.Sprintf("go-gpuallocator, of %d cases", c.cases)
	return []figure{
		{"score of the chosen GPUs, ours / theirs, worst case", fmt.Sprintf("%.2f", c.inside), fmt.Sprintf("%s: %d worse, %d too few GPUs", cases, c.better, c.short), "1.00"},
		{"where that is equal: score of the GPUs left free, worst case", fmt.Sprintf("%.2f", c.rest), fmt.Sprintf("%d cases", c.alike), "-"},
	}
}

// fourOfSixteen times choosing, all GPUs being free. Theirs is timed once on each machine: it takes seconds.
func (c *contest) fourOfSixteen(ctx context.Context, machines []wired, rounds int) ([]figure, error) {
	const n, free = 4, gpu.DeviceSet(1<<16 - 1)
	var ours, theirs, asked []time.Duration
	for _, m := range machines {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rival, board := newBestEffort(m.devices), c.boards.Topology(m.devices)
		names := board.UUIDs(free)
		begin := time.Now()
		their := rival.pick(free, n)
		theirs = append(theirs, time.Since(begin))
		for range rounds {
			begin := time.Now()
			our := gpu.Pick(m.devices, names, n)
			ours = append(ours, time.Since(begin))
			begin = time.Now()
			for range 1000 {
				board.Pick(free, n)
			}
			asked = append(asked, time.Since(begin)/1000)
			if board.HealthySet(our) != board.Pick(free, n) {
				return nil, fmt.Errorf("%s: Pick chooses %v, its board %v", m.name, our, board.UUIDs(board.Pick(free, n)))
			}
		}
		c.compare(rival, free, their, board.Pick(free, n))
	}
	reference := "go-gpuallocator " + median(theirs).Round(time.Millisecond).String()
	times := func(d time.Duration) string {
		return fmt.Sprintf("%s, %.0f x", reference, float64(median(theirs))/float64(d))
	}
	return []figure{
		{"choosing 4 of 16 GPUs from the inventory", median(ours).Round(100 * time.Nanosecond).String(), times(median(ours)), "100 x faster"},
		{"the same, on a board that was asked before", median(asked).String(), times(median(asked)), "-"},
	}, nil
}
