// Package nvml is the agent's side of the NVIDIA driver. The driver itself is spoken to by pinion-nvml, a process of its
// own that this package starts, asks and watches over, so that an abort, a hang or a missing library of the driver is
// a state of the host and never of the agent.
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
	"time"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// retryInterval is when an inventory with a problem is worth reading again: an administrator may have installed or loaded
// the driver meanwhile.
const retryInterval = 30 * time.Second

// Source is the GPUs that the NVIDIA driver sees. It is safe for concurrent use.
type Source struct {
	helper  *helper
	root    string // of the file system, "/" but in tests
	log     *slog.Logger
	changed chan struct{}
	cdi     cdiCache

	mu          sync.Mutex
	lastDevices []gpu.Device      // of the last inventory that was read in full
	lastDriver  string            // its driver version
	unhealthy   map[string]string // why a device must not be used, by UUID, from its fatal events; for the life of the source
	retryTimer  *time.Timer       // reminds of an inventory with a problem
}

var _ gpu.Source = (*Source)(nil)

// Open prepares to ask the driver through the helper program at the path. It does not fail: a host without a driver, or
// without GPUs, says so in its inventory. The helper is started when it is first needed, which on hosts without
// NVIDIA hardware is never.
func Open(helperPath string, log *slog.Logger) gpu.Source {
	return open(execHelper(helperPath), "/", log)
}

func open(run startFunc, root string, log *slog.Logger) *Source {
	s := &Source{root: root, log: log, changed: make(chan struct{}, 1), unhealthy: map[string]string{}}
	s.helper = &helper{run: run, log: log, callTimeout: callTimeout, onEvent: s.onEvent, onDown: s.notifyChanged}
	return s
}

// Changed receives a value when the inventory is worth reading again.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// notifyChanged says that the inventory may have changed, and the CDI specification with it.
func (s *Source) notifyChanged() {
	s.cdi.drop()
	select {
	case s.changed <- struct{}{}:
	default: // one is waiting already
	}
}

// Inventory reads the devices now. Devices that were seen before and are not any more stay in it as unhealthy, also
// while the helper is down. The error is nil unless ctx ended first; Changed asks for another look then, because a
// driver that wakes many GPUs answers in the end.
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
	case err != nil:
		seen.Problem = err.Error()
	case answer.Inventory == nil:
		seen.Problem = "pinion-nvml answered without an inventory: it is of another version than pinion"
	default:
		seen = *answer.Inventory
	}
	return s.mergeKnown(seen), nil
}

// mergeKnown adds what the source knows and the driver does not say.
func (s *Source) mergeKnown(seen gpu.Inventory) gpu.Inventory {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.Devices = appendMissing(seen.Devices, s.lastDevices, seen.Problem)
	for i := range seen.Devices {
		d := &seen.Devices[i]
		if why, ok := s.unhealthy[d.UUID]; ok {
			d.Health, d.Problem = gpu.Unhealthy, why
		}
	}
	if seen.Driver != s.lastDriver || !reflect.DeepEqual(seen.Devices, s.lastDevices) {
		s.cdi.drop()
	}
	s.lastDevices, s.lastDriver = slices.Clone(seen.Devices), seen.Driver
	s.scheduleRetry(seen.Problem != "")
	return seen
}

// scheduleRetry asks for another look later, or for none.
func (s *Source) scheduleRetry(later bool) {
	if s.retryTimer != nil {
		s.retryTimer.Stop()
	}
	if later {
		s.retryTimer = time.AfterFunc(retryInterval, s.notifyChanged)
	}
}

// CDI returns the specification by which containers get the devices. It is made once and again after each change, because
// making it takes the driver far longer than starting a container.
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

// Processes lists the host process ids that compute on the device. After an error the device may be in use.
func (s *Source) Processes(ctx context.Context, uuid string) ([]int, error) {
	answer, err := s.callDevice(ctx, protocol.Request{Kind: protocol.Processes, UUID: uuid})
	if err != nil {
		return nil, fmt.Errorf("list the processes on GPU %s: %w", uuid, err)
	}
	return answer.Processes, nil
}

// callDevice is for what makes sense only where there are GPUs.
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
