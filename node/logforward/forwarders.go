// Package logforward sends the lines of containers on to where the log drivers of their definitions say. It reads them from the log that the
// host keeps, so a destination that is slow, stalled or away holds up no container and takes no more memory: what it does not take in time
// is gone from the log when that is full, and is counted.
package logforward

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"

	"pinion/node/logs"
	"pinion/raftfsm/valuefrom"
)

// Config has the dependencies that the forwarders of a host share.
type Config struct {
	Store *logs.Store
	// Allowed are the destinations of `pinion up --log-destination`.
	Allowed []string
	// Virtual is the range of this host's virtual addresses, none of which is a destination.
	Virtual netip.Prefix
	// HostName is the name of this host in messages.
	HostName string
	// Region is the region in the ARNs of tasks.
	Region string
	// Secrets asks, once, for the values of options that are secrets, by their names. The error wraps valuefrom.ErrUnresolved when they cannot be had.
	Secrets func(ctx context.Context, taskID, cluster, container string, wanted []valuefrom.Secret) (map[string]string, error)
	Log     *slog.Logger
}

// maxEnded bounds the logs of ended containers that are sent at the same time, each for a turn. Those that have to wait for their destination do
// not count, nor those for a log router, which are given up when it has ended.
const maxEnded = 32

// Forwarders has a forwarder for each container of this host with a log driver that sends lines elsewhere, until its log is sent to the end.
type Forwarders struct {
	config Config
	dialer *dialer
	ended  chan struct{} // holds a value for each log of an ended container that is being sent
	ctx    context.Context
	end    context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	running map[logs.ForwardedLog]*forwarder
}

// New makes the forwarders of a host, and goes on with the logs of containers that a previous run of the agent has left.
func New(c Config) (*Forwarders, error) {
	f := &Forwarders{config: c, dialer: newDialer(c.Allowed, c.Virtual), ended: make(chan struct{}, maxEnded), running: map[logs.ForwardedLog]*forwarder{}}
	f.ctx, f.end = context.WithCancel(context.Background())
	left, err := c.Store.ForwardedLogs()
	if err != nil {
		return nil, err
	}
	for _, of := range left {
		var n forwardRecord
		raw, err := c.Store.ReadForwardRecord(of)
		if err == nil {
			err = json.Unmarshal(raw, &n)
		}
		if err != nil {
			c.Log.Warn("the log of a container is not forwarded: its forwarding record cannot be read", "task", of.Task, "container", of.Container, "error", err)
			continue
		}
		if _, err := f.begin(of, n, nil, false); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Close ends the forwarders. What was not sent is sent by the next run of the agent.
func (f *Forwarders) Close() error {
	f.end()
	f.group.Wait()
	return nil
}

// begin is the forwarder of a container, which is started if there is none. With keep what it has to know is written beside the log first, less
// the secrets; nil: it asks for them.
func (f *Forwarders) begin(of logs.ForwardedLog, n forwardRecord, secrets map[string]string, keep bool) (*forwarder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if keep {
		raw, err := json.Marshal(n)
		if err == nil {
			err = f.config.Store.WriteForwardRecord(of, raw)
		}
		if err != nil {
			return nil, fmt.Errorf("keeping where the log is sent: %w", err)
		}
	}
	if known := f.running[of]; known != nil {
		known.over.Store(false)
		known.secrets.replaceValues(secrets)
		return known, nil
	}
	n.Name = cmp.Or(n.Name, of.Container) // notes had none
	started := &forwarder{all: f, of: of, note: n, ended: make(chan struct{}), log: f.config.Log.With("task", of.Task, "container", n.Name, "driver", n.Log.LogDriver)}
	if extra, err := json.Marshal(n.Extra); err == nil {
		started.perLine = len(extra)
	}
	started.over.Store(!keep)
	started.secrets.replaceValues(secrets)
	f.running[of] = started
	f.group.Go(func() {
		defer close(started.ended)
		started.run(f.ctx)
	})
	return started, nil
}

// finish forgets a forwarder that has come to the end of its log, and reports whether it has: its container may be about to start again.
func (f *Forwarders) finish(ended *forwarder) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !ended.over.Load() {
		return false
	}
	delete(f.running, ended.of)
	if err := f.config.Store.RemoveForwardRecord(ended.of); err != nil {
		ended.log.Warn("a log that is sent cannot be noted as such", "error", err)
	}
	return true
}

// markEnded notes that the containers of a task have ended for good.
func (f *Forwarders) markEnded(task string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for of, running := range f.running {
		if of.Task == task {
			running.over.Store(true)
			running.gone.Store(true)
		}
	}
}
