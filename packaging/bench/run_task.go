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
func measureReplies(h *host, repeats int, r *results) error {
	replies, syncs, err := repliesBeside(h.client, repeats, func() (time.Duration, error) {
		return fdatasync(filepath.Join(h.dir, "bench-sync"))
	})
	if err != nil {
		return err
	}
	return r.add("Host/reply", repeats, append(percentiles("", replies), took("fdatasync-p50", median(syncs)))...)
}

// measurePoolReplies times RunTask's reply, one client, through the leader and through an agent, which forwards it; both
// beside an entry of three servers of bare Raft.
func measurePoolReplies(p *pool, o options, r *results) (err error) {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	bare, err := startBareRaft()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	for name, at := range map[string]*testbed.Host{"leader": now.leader, "agent": now.agent} {
		replies, entries, err := repliesBeside(p.client(at), o.repeats, bare.entry)
		if err != nil {
			return err
		}
		if err := r.add("Pool/reply/at="+name, o.repeats, append(percentiles("", replies), took("raft-p50", median(entries)))...); err != nil {
			return err
		}
	}
	return nil
}

// repliesBeside times RunTask's reply, one client, in turns with something to compare it with.
func repliesBeside(c *client, repeats int, other func() (time.Duration, error)) (replies, others []time.Duration, err error) {
	if err := c.define("reply"); err != nil {
		return nil, nil, err
	}
	for range repeats {
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
