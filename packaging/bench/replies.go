package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/testbed"
)

// pause is the time between two questions to the host, long enough to leave it the machine.
func pause() { time.Sleep(20 * time.Millisecond) }

// measureReplies times RunTask's reply, one client, beside one fdatasync of a page on the same disk.
func measureReplies(h *host, rounds int) ([]figure, error) {
	replies, syncs, err := repliesBeside(h.client, rounds, func() (time.Duration, error) {
		return fdatasync(filepath.Join(h.dir, "bench-sync"))
	})
	if err != nil {
		return nil, err
	}
	reach := 3*median(syncs) + 2*time.Millisecond
	return []figure{{"RunTask reply, one client, p50", ms(median(replies)), "fdatasync " + ms(median(syncs)), "at most " + ms(reach)}}, nil
}

// measurePoolReplies times RunTask's reply, one client, through the leader and through an agent, which passes it on; both
// beside an entry of three servers of bare Raft.
func measurePoolReplies(p *pool, o options) (figures []figure, err error) {
	now, err := p.settled()
	if err != nil {
		return nil, err
	}
	bare, err := startBareRaft()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	for _, at := range []struct {
		what string
		host *testbed.Host
	}{{"the leader", now.leader}, {"an agent", now.agent}} {
		replies, entries, err := repliesBeside(p.client(at.host), o.rounds, bare.entry)
		if err != nil {
			return figures, err
		}
		figures = append(figures, figure{
			"RunTask reply, 3 servers, one client at " + at.what + ", p50", ms(median(replies)), "bare Raft entry " + ms(median(entries)), "at most 3 ms",
		})
	}
	return figures, nil
}

// repliesBeside times RunTask's reply, one client, in turns with something to compare it with.
func repliesBeside(c *client, rounds int, other func() (time.Duration, error)) (replies, others []time.Duration, err error) {
	if err := c.define("reply"); err != nil {
		return nil, nil, err
	}
	for range rounds {
		begin := time.Now()
		t, err := c.run("reply")
		if err != nil {
			return nil, nil, err
		}
		replies = append(replies, time.Since(begin))
		if err := c.stop(t); err != nil {
			return nil, nil, err
		}
		took, err := other()
		if err != nil {
			return nil, nil, err
		}
		others = append(others, took)
	}
	return replies, others, nil
}

// fdatasync times one appended page made durable.
func fdatasync(path string) (time.Duration, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	begin := time.Now()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return 0, err
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return 0, fmt.Errorf("fdatasync %s: %w", path, err)
	}
	return time.Since(begin), nil
}
