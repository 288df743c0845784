// Package nvml is the agent's client of the NVIDIA driver. Only pinion-nvml, a separate process that this package starts
// and supervises, calls the driver's library: a crash, a hang or a missing library is then a state of the host and never of
// the agent.
package nvml

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/gpu/nvml/protocol"
)

// retryInterval is the delay before an inventory with a problem is read again: an administrator may have installed or
// loaded the driver meanwhile.
const retryInterval = 30 * time.Second

// Source is the GPUs that the NVIDIA driver sees. It is safe for concurrent use.
type Source struct {
	helper  *helper
	root    string  // file system root, "/" except in tests
	run     runOnce // runs a program once; in tests a stand-in
	self    string  // the helper program
	shares  bool    // GPUs may be shared, where the driver can keep containers to their shares
	log     *slog.Logger
	changed chan struct{}
	cdi     cdiCache

	asksUsage atomic.Bool // a request for usage has no answer yet

	mu          sync.Mutex
	lastDevices []gpu.Device // of the last complete inventory
	lastDriver  string       // its driver version

	lastInventory gpu.Inventory
	faults        []gpu.Fault // errors of the driver that nobody has taken yet
	retryTimer    *time.Timer // signals Changed while the inventory has a problem
}

var (
	_ gpu.Source       = (*Source)(nil)
	_ gpu.Meter        = (*Source)(nil)
	_ gpu.ComputeModes = (*Source)(nil)
	_ gpu.FaultSource  = (*Source)(nil)
	_ gpu.Checker      = (*Source)(nil)
	_ gpu.Resetter     = (*Source)(nil)
)

// Open creates the source; path is the helper program. It does not fail: a host without a driver, or without GPUs, reports
// that in its inventory. The helper is started at first use, which on hosts without NVIDIA hardware is never. Unless the caller keeps
// containers to shares of GPUs (gpu.Sharer), which shares says, no inventory offers any.
func Open(helperPath string, shares bool, log *slog.Logger) *Source {
	s := open(execHelper(helperPath), "/", log)
	s.shares, s.self = shares, helperPath
	return s
}

func open(run startFunc, root string, log *slog.Logger) *Source {
	s := &Source{root: root, log: log, changed: make(chan struct{}, 1), run: runProgram}
	s.helper = &helper{run: run, log: log, callTimeout: callTimeout, onEvent: s.onEvent, onDown: s.notifyChanged}
	return s
}

// Changed receives a value when the inventory may have changed.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// notifyChanged signals that the inventory, and with it the CDI specification, may have changed.
func (s *Source) notifyChanged() {
	s.cdi.drop()
	select {
	case s.changed <- struct{}{}:
	default: // a signal is pending already
	}
}

// Inventory reads the devices. Devices that were seen before and that a driver in trouble does not list stay in it, as lost, or as unhealthy
// while the helper is down. While a device is reset, it is the last inventory. The error is nil unless ctx ended first; Changed then fires later, because a driver that wakes many GPUs
// needs longer than that.
func (s *Source) Inventory(ctx context.Context) (gpu.Inventory, error) {
	if !hasHardware(s.root) {
		return gpu.Inventory{}, nil
	}
	answer, err := s.helper.call(ctx, protocol.Request{Kind: protocol.Inventory})
	if ctx.Err() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.scheduleRetry(true)
		return gpu.Inventory{}, cmp.Or(err, ctx.Err())
	}
	var seen gpu.Inventory
	switch {
	case errors.Is(err, errResetting):
		return s.last(), nil
	case err != nil:
		seen.Problem = err.Error()
	case answer.Inventory == nil:
		seen.Problem = "pinion-nvml answered without an inventory: it is of another version than pinion"
	default:
		seen = *answer.Inventory
	}
	if !s.shares {
		seen.VRAMEnforcement = ""
	}
	return s.mergeKnown(seen, errors.Is(err, errHangs)), nil
}

// mergeKnown adds the devices that the source remembers and a driver in trouble does not list. hangs: it did not answer.
func (s *Source) mergeKnown(seen gpu.Inventory, hangs bool) gpu.Inventory {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.Devices = keepKnown(seen.Devices, s.lastDevices, seen.Problem, hangs)
	if seen.Driver != s.lastDriver || !reflect.DeepEqual(seen.Devices, s.lastDevices) {
		s.cdi.drop()
	}
	s.lastDevices, s.lastDriver, s.lastInventory = slices.Clone(seen.Devices), seen.Driver, seen
	s.scheduleRetry(seen.Problem != "")
	return seen
}

// last is the last inventory.
func (s *Source) last() gpu.Inventory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastInventory
}

// scheduleRetry schedules another read of the inventory, or cancels it.
func (s *Source) scheduleRetry(later bool) {
	if s.retryTimer != nil {
		s.retryTimer.Stop()
	}
	if later {
		s.retryTimer = time.AfterFunc(retryInterval, s.notifyChanged)
	}
}

// CDI returns the specification that gives containers the devices. It is cached until something changes, because generating
// it takes the driver far longer than starting a container.
func (s *Source) CDI(ctx context.Context) (kind string, spec []byte, err error) {
	cached, generation := s.cdi.get()
	if cached == nil {
		if cached, err = s.makeCDI(ctx); err != nil {
			return "", nil, fmt.Errorf("describing the GPUs for containers: %w", err)
		}
		s.cdi.put(cached, generation)
	}
	return cached.Kind, cached.JSON, nil
}

func (s *Source) makeCDI(ctx context.Context) (*protocol.Spec, error) {
	answer, err := s.callDevice(ctx, protocol.Request{Kind: protocol.CDI})
	if err != nil {
		return nil, err
	}
	if answer.CDI == nil {
		return nil, errors.New("pinion-nvml answered without a CDI specification: it is of another version than pinion")
	}
	return answer.CDI, nil
}

// Processes lists the host process ids that compute on the device. After an error the device must be assumed to be in use.
func (s *Source) Processes(ctx context.Context, uuid string) ([]int, error) {
	answer, err := s.callDevice(ctx, protocol.Request{Kind: protocol.Processes, UUID: uuid})
	if err != nil {
		return nil, fmt.Errorf("list the processes on GPU %s: %w", uuid, err)
	}
	return answer.Processes, nil
}

// Usage is of gpu.Meter. The device's driver knows some seconds of utilization. While an earlier call waits for a driver that takes long, whoever made it
// may have gone, it fails: more requests would wait before those that tasks need.
func (s *Source) Usage(ctx context.Context) ([]gpu.Usage, error) {
	if !s.asksUsage.CompareAndSwap(false, true) {
		return nil, errors.New("how the GPUs are used: the driver has not answered the last question yet")
	}
	answered := make(chan error, 1)
	var answer protocol.Message
	go func() {
		var err error
		answer, err = s.callDevice(context.WithoutCancel(ctx), protocol.Request{Kind: protocol.Usage})
		s.asksUsage.Store(false) // before the caller goes on, who may ask again
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			return nil, fmt.Errorf("how the GPUs are used: %w", err)
		}
		return answer.Usage, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("how the GPUs are used: %w", ctx.Err())
	}
}

// SetExclusive is of gpu.ComputeModes.
func (s *Source) SetExclusive(ctx context.Context, uuid string, exclusive bool) error {
	kind := protocol.NoExclusive
	if exclusive {
		kind = protocol.Exclusive
	}
	_, err := s.callDevice(ctx, protocol.Request{Kind: kind, UUID: uuid})
	return err
}

var _ gpu.Partitioner = (*Source)(nil)

// Partition is of gpu.Partitioner.
func (s *Source) Partition(ctx context.Context, uuid string, layout mig.Layout) error {
	_, err := s.callDevice(ctx, protocol.Request{Kind: protocol.Partition, UUID: uuid, Layout: layout})
	return err
}

// callDevice is call for requests that need NVIDIA hardware.
func (s *Source) callDevice(ctx context.Context, request protocol.Request) (protocol.Message, error) {
	if !hasHardware(s.root) {
		return protocol.Message{}, fmt.Errorf("this host has no NVIDIA GPU")
	}
	answer, err := s.helper.call(ctx, request)
	if err == nil && answer.Error != "" {
		err = fmt.Errorf("%s", answer.Error)
	}
	return answer, err
}

// Close ends the helper.
func (s *Source) Close() error {
	s.mu.Lock()
	s.scheduleRetry(false)
	s.mu.Unlock()
	s.helper.close()
	return nil
}
