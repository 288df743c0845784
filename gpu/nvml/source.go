// Package nvml is the agent's side of the NVIDIA driver. The driver itself is spoken to by pinion-nvml, a process of its
// own that this package starts, asks and watches over, so that an abort, a hang or a missing library of the driver is
// a state of the host and never of the agent.
package nvml

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/gpu/nvml/wire"
)

// lookAgain is when an inventory with a problem is worth reading again: an administrator may have installed or loaded
// the driver meanwhile.
const lookAgain = 30 * time.Second

// Source is the GPUs that the NVIDIA driver sees. It is safe for concurrent use.
type Source struct {
	helper  *helper
	root    string // of the file system, "/" but in tests
	log     *slog.Logger
	changed chan struct{}

	mu    sync.Mutex
	known []gpu.Device      // of the last inventory that was read in full
	ill   map[string]string // why a device must not be used, by UUID, from its fatal events; for the life of the source
	again *time.Timer       // reminds of an inventory with a problem
}

var _ gpu.Source = (*Source)(nil)

// Open prepares to ask the driver through the helper program at the path. It does not fail: a host without a driver, or
// without GPUs, says so in its inventory. The helper is started when it is first needed, which on hosts without
// NVIDIA hardware is never.
func Open(helperPath string, log *slog.Logger) gpu.Source {
	return open(runner(helperPath), "/", log)
}

func open(run startFunc, root string, log *slog.Logger) *Source {
	s := &Source{root: root, log: log, changed: make(chan struct{}, 1), ill: map[string]string{}}
	s.helper = &helper{run: run, log: log, patience: patience, event: s.heard, down: s.signal}
	return s
}

// Changed receives a value when the inventory is worth reading again.
func (s *Source) Changed() <-chan struct{} { return s.changed }

func (s *Source) signal() {
	select {
	case s.changed <- struct{}{}:
	default: // one is waiting already
	}
}

// Inventory reads the devices now. Devices that were seen before and are not any more stay in it as unhealthy, also
// while the helper is down. The error is nil unless ctx ended first; Changed asks for another look then, because a
// driver that wakes many GPUs answers in the end.
func (s *Source) Inventory(ctx context.Context) (gpu.Inventory, error) {
	if !hardware(s.root) {
		return gpu.Inventory{}, nil
	}
	answer, err := s.helper.ask(ctx, wire.Request{Kind: wire.Inventory})
	if ctx.Err() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remind(true)
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
	return s.complete(seen), nil
}

// complete adds what the source knows and the driver does not say.
func (s *Source) complete(seen gpu.Inventory) gpu.Inventory {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.Devices = withMissing(seen.Devices, s.known, seen.Problem)
	for i := range seen.Devices {
		d := &seen.Devices[i]
		if why, ok := s.ill[d.UUID]; ok {
			d.Health, d.Problem = gpu.Unhealthy, why
		}
	}
	s.known = slices.Clone(seen.Devices)
	s.remind(seen.Problem != "")
	return seen
}

// remind asks for another look later, or for none.
func (s *Source) remind(later bool) {
	if s.again != nil {
		s.again.Stop()
	}
	if later {
		s.again = time.AfterFunc(lookAgain, s.signal)
	}
}

// withMissing appends the known devices that are not among the seen ones, as unhealthy.
func withMissing(seen, known []gpu.Device, problem string) []gpu.Device {
	if problem == "" {
		problem = "the driver does not see this GPU any more: look into dmesg for what it says of it"
	}
	there := gpu.Inventory{Devices: seen}
	for _, d := range known {
		if _, ok := there.Device(d.UUID); !ok {
			d.Health, d.Problem = gpu.Unhealthy, problem
			seen = append(seen, d)
		}
	}
	return seen
}

// heard takes in what the driver reported by itself.
func (s *Source) heard(e wire.Event) {
	why, fatal := judge(e)
	s.log.Warn("the NVIDIA driver reported an error", "gpu", e.UUID, "error", why, "fatal", fatal)
	if fatal {
		s.mu.Lock()
		for _, uuid := range s.struck(e) {
			s.ill[uuid] = why
		}
		s.mu.Unlock()
	}
	s.signal()
}

// struck are the devices an event speaks of: when the driver cannot say which, all of them.
func (s *Source) struck(e wire.Event) []string {
	if e.UUID != "" {
		return []string{e.UUID}
	}
	var all []string
	for _, d := range s.known {
		all = append(all, d.UUID)
	}
	return all
}

// CDI returns the specification by which containers get the devices.
func (s *Source) CDI(ctx context.Context) (kind string, spec []byte, err error) {
	answer, err := s.asked(ctx, wire.Request{Kind: wire.CDI})
	if err != nil {
		return "", nil, fmt.Errorf("describing the GPUs for containers: %w", err)
	}
	if answer.CDI == nil {
		return "", nil, fmt.Errorf("pinion-nvml answered without a CDI specification: it is of another version than pinion")
	}
	return answer.CDI.Kind, answer.CDI.JSON, nil
}

// Processes lists the host process ids that compute on the device. An error means that nobody knows.
func (s *Source) Processes(ctx context.Context, uuid string) ([]int, error) {
	answer, err := s.asked(ctx, wire.Request{Kind: wire.Processes, UUID: uuid})
	if err != nil {
		return nil, fmt.Errorf("looking who uses GPU %s: %w", uuid, err)
	}
	return answer.Processes, nil
}

// asked is for what makes sense only where there are GPUs.
func (s *Source) asked(ctx context.Context, request wire.Request) (wire.Message, error) {
	if !hardware(s.root) {
		return wire.Message{}, fmt.Errorf("this host has no NVIDIA GPU")
	}
	answer, err := s.helper.ask(ctx, request)
	if err == nil && answer.Error != "" {
		err = fmt.Errorf("%s", answer.Error)
	}
	return answer, err
}

// Close ends the helper.
func (s *Source) Close() error {
	s.mu.Lock()
	s.remind(false)
	s.mu.Unlock()
	s.helper.close()
	return nil
}
