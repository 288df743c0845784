package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fleet is many simulated hosts of the pool, in one process; see packaging/bench/fleet.
type fleet struct {
	size   int
	pid    int
	orders io.WriteCloser
	lines  *bufio.Scanner // its answers
	ended  chan error
}

const (
	// fleetCluster is a cluster of its own, so that the other hosts can be looked at without it.
	fleetCluster = "fleet"
	// silentHosts is the number of its hosts that fall silent for one metric.
	silentHosts = 30
	// silentWithLeader is the number of them that fall silent with each leader.
	silentWithLeader = 6
)

// measureFleet measures what a pool does with many hosts.
func measureFleet(ctx context.Context, o options, r *results) (err error) {
	p, err := startPool(ctx, o.binary, poolHosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.down()) }()
	f, err := p.startFleet(o.hosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	if err := p.rest(quiet); err != nil {
		return err
	}
	if err := measureFleetIdle(p, f, r); err != nil {
		return err
	}
	if err := measureFleetTop(p, f, r); err != nil {
		return err
	}
	if err := measureFleetScrape(p, f, r); err != nil {
		return err
	}
	return measureFleetLosses(p, f, r)
}

// startFleet builds the fleet's program, starts it at the free place in the network, and waits until all its hosts are in.
func (p *pool) startFleet(size int) (*fleet, error) {
	program := filepath.Join(p.testbed.Dir, "fleet")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./packaging/bench/fleet").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the fleet: %w: %s", err, out)
	}
	join, err := p.hosts[0].JoinFlags(size, fleetCluster)
	if err != nil {
		return nil, err
	}
	args := []string{"-n", fmt.Sprint(size), "-dir", p.testbed.Dir + "/fleet.d", "-ip", p.spare.IP.String(), "-cluster", fleetCluster}
	for _, flag := range join { // of pinion up, which the fleet's are called after
		args = append(args, strings.Replace(flag, "--", "-", 1))
	}
	f, err := p.startProgram(exec.CommandContext(p.ctx, program, args...))
	if err != nil {
		return nil, err
	}
	f.size = size
	pid, err := f.answer("ready")
	if err == nil {
		_, err = fmt.Sscan(pid, &f.pid)
	}
	if err != nil {
		return nil, errors.Join(err, f.end())
	}
	return f, nil
}

// startProgram runs the fleet's program with pipes to talk to it. They are files, so that its end needs no hand to close them.
func (p *pool) startProgram(cmd *exec.Cmd) (*fleet, error) {
	input, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, output, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, input.Close(), orders.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, output, os.Stderr
	f := &fleet{lines: bufio.NewScanner(answers), orders: orders, ended: make(chan error, 1)}
	go func() { f.ended <- errors.Join(p.spare.Run(cmd), input.Close(), output.Close()) }()
	return f, nil
}

// answer reads the next line, which begins with what.
func (f *fleet) answer(what string) (rest string, err error) {
	if !f.lines.Scan() {
		return "", fmt.Errorf("the fleet ended before it said %q", what)
	}
	rest, ok := strings.CutPrefix(f.lines.Text(), what+" ")
	if !ok {
		return "", fmt.Errorf("the fleet said %q and not %q", f.lines.Text(), what)
	}
	return rest, nil
}

// silence makes the next host fall silent, at the moment that it returns.
func (f *fleet) silence() (id string, err error) {
	if _, err := fmt.Fprintln(f.orders, "silence"); err != nil {
		return "", err
	}
	return f.answer("silent")
}

// end ends the fleet and waits for it.
func (f *fleet) end() error {
	f.orders.Close()
	return <-f.ended
}

// load is the usage of an idle pool with the fleet up to a moment.
type load struct {
	leader, others time.Duration // CPU time; the others are the servers that follow, together
	wire           int64         // bytes at the fleet's interface
}

func (p *pool) loadOf(f *fleet, now roles) (l load, err error) {
	if l.leader, err = cpuTime(now.leader.PID()); err != nil {
		return l, err
	}
	for _, h := range p.others(now.leader, now.agent) {
		used, err := cpuTime(h.PID())
		if err != nil {
			return l, err
		}
		l.others += used
	}
	l.wire, err = wireBytes(f.pid, link)
	return l, err
}

// measureFleetIdle watches the pool while nothing happens in it.
func measureFleetIdle(p *pool, f *fleet, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	before, err := p.loadOf(f, now)
	if err != nil {
		return err
	}
	if err := p.rest(idleFor); err != nil {
		return err
	}
	after, err := p.loadOf(f, now)
	if err != nil {
		return err
	}
	if then, err := p.waitReady(); err != nil || then.leader != now.leader {
		return errors.Join(errors.New("the leader changed while the pool was idle: this machine is too busy to measure on"), err)
	}
	memory, err := residentBytes(now.leader.PID())
	if err != nil {
		return err
	}
	share := func(used time.Duration) float64 { return 100 * used.Seconds() / idleFor.Seconds() }
	return r.add("Fleet/idle", 1,
		measured(share(after.leader-before.leader), "leader-CPU-%"), measured(share((after.others-before.others)/(servers-1)), "follower-CPU-%"),
		measured(memory, "leader-B"), measured(float64(after.wire-before.wire)/float64(f.size)/idleFor.Minutes(), "wire-B/min"))
}
