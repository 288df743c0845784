package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// eventFollowers receive eventRate changes a second, for eventTime.
	eventFollowers = 200
	eventRate      = 1000
	eventTime      = 10 * time.Second
	// eventWriters make them. Each waits for its answer, so together they share the commits of the log.
	eventWriters = 64
	// eventCluster is the cluster that they change: a tag holds the number of the change and its time.
	eventCluster = "bench"
)

// measureEvents measures what followers of events receive of many changes, through the local socket of a host that is alone. The
// time is from before a change is asked for until a follower has read it, so the turn of the disk is in it.
func measureEvents(ctx context.Context, o options, r *results) error {
	h, err := startHost(o.binary)
	if err != nil {
		return err
	}
	defer h.down()
	if err := h.call("CreateCluster", object{"clusterName": eventCluster}, &struct{}{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, eventTime+waitTimeout)
	defer cancel()
	wanted := int(eventRate * eventTime.Seconds())
	followers := make([]*eventFollower, eventFollowers)
	var following errgroup.Group
	for i := range followers {
		f, err := h.followEvents(ctx)
		if err != nil {
			return err
		}
		followers[i] = f
		following.Go(func() error { return f.read(wanted) })
	}
	begin := time.Now()
	err = h.makeChanges(ctx, wanted)
	rate := float64(wanted) / time.Since(begin).Seconds()
	if err == nil {
		err = h.change(h.client, lastChange)
	}
	if err != nil {
		cancel() // the followers would wait for the last one
	}
	if err = errors.Join(err, following.Wait()); err != nil {
		return err
	}
	var times []time.Duration
	lost, size := 0, int64(0)
	for _, f := range followers {
		lost, size, times = lost+wanted-len(f.times), size+f.bytes, append(times, f.times...)
	}
	return r.add("Events", len(times), append(percentiles("", times),
		measured(float64(lost), "lost"), measured(rate, "changes/s"), measured(float64(size)/float64(len(times)), "B/event"))...)
}

// makeChanges asks for so many changes at the rate, or as fast as the host can.
func (h *host) makeChanges(ctx context.Context, count int) error {
	const perSecond = time.Second / eventRate
	turns := make(chan int)
	group, ctx := errgroup.WithContext(ctx)
	for range eventWriters {
		group.Go(func() error {
			c, err := newClient(h.dir) // with a connection of its own
			if err != nil {
				return err
			}
			for n := range turns {
				if err := h.change(c, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(turns)
		begin := time.Now()
		for n := range count {
			time.Sleep(time.Until(begin.Add(time.Duration(n) * perSecond)))
			select {
			case turns <- n:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return group.Wait()
}

// lastChange is the number of the one after which nothing comes.
const lastChange = -1

// change makes one change, with its number and its time in a tag.
func (h *host) change(c *client, n int) error {
	tag := []object{{"key": "change", "value": fmt.Sprintf("%d %d", n, time.Now().UnixNano())}}
	return c.call("TagResource", object{"resourceArn": "arn:aws:ecs:us-east-1:123456789012:cluster/" + eventCluster, "tags": tag}, &struct{}{})
}

// eventFollower is one follower and what it has received.
type eventFollower struct {
	response *http.Response
	bytes    int64
	times    []time.Duration
}

// followEvents returns once the host has answered.
func (h *host) followEvents(ctx context.Context) (*eventFollower, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pinion/v1/events?cluster="+eventCluster, nil)
	if err != nil {
		return nil, err
	}
	// Followers read bare lines: 200 that decode each event would measure themselves.
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", filepath.Join(h.dir, "pinion.sock"))
	}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("events: %s", response.Status), response.Body.Close())
	}
	return &eventFollower{response: response}, nil
}

// read receives changes up to the last one. Duplicates do not count.
func (f *eventFollower) read(wanted int) error {
	defer f.response.Body.Close()
	heard := make([]bool, wanted)
	lines := bufio.NewReaderSize(f.response.Body, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("a follower heard %d of %d changes: %w", len(f.times), wanted, err)
		}
		f.bytes += int64(len(line))
		n, asked, ok := changeIn(line)
		switch {
		case !ok:
		case n == lastChange:
			return nil
		case !heard[n]:
			heard[n] = true
			f.times = append(f.times, time.Since(time.Unix(0, asked)))
		}
	}
}

// changeIn returns the number and the time of the change in an event.
func changeIn(line []byte) (n int, asked int64, ok bool) {
	_, rest, found := bytes.Cut(line, []byte(`"change","value":"`))
	value, _, closed := bytes.Cut(rest, []byte(`"`))
	number, moment, both := strings.Cut(string(value), " ")
	if !found || !closed || !both {
		return 0, 0, false
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, 0, false
	}
	asked, err = strconv.ParseInt(moment, 10, 64)
	return n, asked, err == nil
}
