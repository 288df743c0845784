package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/node/gpuhealth"
	"pinion/raftfsm/spec"
)

const (
	// checkTimeout bounds a check of a GPU, and a reset.
	checkTimeout = 5 * time.Minute
	// idleTimeout bounds how long a check waits for the processes that have the GPU open.
	idleTimeout = 10 * time.Second
	// checkOwner owns a GPU while it is checked, as a task does.
	checkOwner = "check of GPU "
	// wellAfter is the time after which a running task shows that its definition works.
	wellAfter = time.Minute
)

// gpuHealth is the health of the node's GPUs for its tasks.
type gpuHealth struct {
	record *gpuhealth.Record
	gpus   *GPUs
	tasks  func() []*runningTask
}

// recordTimeout bounds how long the end of a task waits for the pool to know of its GPU.
const recordTimeout = 5 * time.Second

// Watch is of task.GPUHealth. The pool believes that a task ended for a lost GPU once it knows that GPU as sick.
func (h gpuHealth) Watch(ctx context.Context, uuids []string) error {
	why := h.record.Watch(ctx, uuids)
	if why != nil {
		h.gpus.waitRecorded(ctx, uuids)
	}
	return why
}

// waitRecorded waits until the pool knows that one of the GPUs is sick, or gone; for recordTimeout at most. It does not wait when they are well: some
// errors end a task and leave its GPU as it was.
func (g *GPUs) waitRecorded(ctx context.Context, uuids []string) {
	g.publish()
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	for anySick(g.current(), uuids) {
		g.mu.Lock()
		recorded, changed := g.recorded, g.recordedCh
		g.mu.Unlock()
		if anySick(recorded, uuids) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// setRecorded notes how the pool has recorded the GPUs.
func (g *GPUs) setRecorded(inventory gpu.Inventory) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recorded = inventory
	close(g.recordedCh)
	g.recordedCh = make(chan struct{})
}

// anySick reports whether one of the GPUs is sick, or is none of the inventory.
func anySick(inventory gpu.Inventory, uuids []string) bool {
	return slices.ContainsFunc(uuids, func(uuid string) bool {
		device, has := inventory.Device(uuid)
		return !has || device.Health != gpu.Healthy
	})
}

// AddTaskEnd is of task.GPUHealth.
func (h gpuHealth) AddTaskEnd(end gpuhealth.TaskEnd) {
	end.Elsewhere = h.runsElsewhere(end)
	h.record.AddTaskEnd(end, time.Now())
}

// runsElsewhere reports whether another task of the definition runs well, on other GPUs.
func (h gpuHealth) runsElsewhere(end gpuhealth.TaskEnd) bool {
	for _, r := range h.tasks() {
		report, other := r.Report(), r.Workload()
		if other.TaskID != end.TaskID && other.Definition == end.Definition && !other.SharesWith(end.Workload) &&
			report.Status == spec.Running && time.Since(report.Times.Started) >= wellAfter {
			return true
		}
	}
	return false
}

// checkSick checks the GPUs that something was wrong with, so that they get work again, and tells the pool of those that something is wrong with.
func (g *GPUs) checkSick(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
	running := runningChecks{uuids: map[string]bool{}, ended: make(chan struct{}, 1)}
	for {
		changed := g.record.Changed()
		g.publish()
		due, next := g.record.Due(time.Now())
		for _, uuid := range due {
			if running.begin(uuid) {
				checks.Go(func() {
					running.end(uuid, g.checkOne(ctx, uuid))
				})
			}
		}
		if !waitUntil(ctx, changed, running.ended, next) {
			return
		}
	}
}

// waitUntil waits for a change, the end of a check that is to be repeated, or the time, if there is one. It reports whether ctx goes on.
func waitUntil(ctx context.Context, changed, ended <-chan struct{}, next time.Time) bool {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-changed:
	case <-ended:
	case <-due:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// runningChecks are the GPUs that are being checked, one check each.
type runningChecks struct {
	mu    sync.Mutex
	uuids map[string]bool
	ended chan struct{} // holds a value when one has ended whose GPU may be due again already
}

func (c *runningChecks) begin(uuid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uuids[uuid] {
		return false
	}
	c.uuids[uuid] = true
	return true
}

func (c *runningChecks) end(uuid string, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.uuids, uuid)
	if !again {
		return
	}
	select {
	case c.ended <- struct{}{}:
	default:
	}
}

// checkOne checks a GPU once no task has it, and reports whether it needs another check.
func (g *GPUs) checkOne(ctx context.Context, uuid string) (again bool) {
	if g.reserve(ctx, uuid) != nil {
		return false
	}
	defer g.locks.Abandon(checkOwner + uuid)
	call, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found := g.try(call, uuid, g.record.StartCheck(uuid))
	return ctx.Err() == nil && g.record.Checked(uuid, found, time.Now())
}

// reserve waits until no task has the GPU, and keeps it from tasks until it is abandoned.
func (g *GPUs) reserve(ctx context.Context, uuid string) error {
	_, err := g.locks.Acquire(ctx, checkOwner+uuid, []string{uuid}, false)
	return err
}

// try checks a GPU that no task has, and resets it before if it is to be; its error says what is wrong.
func (g *GPUs) try(ctx context.Context, uuid string, reset bool) error {
	checker, ok := g.source.(gpu.Checker)
	if !ok {
		return errors.New("this host has no way to check a GPU")
	}
	if err := g.waitIdle(ctx, uuid); err != nil {
		return err
	}
	if reset {
		if err := g.reset(ctx, uuid); err != nil {
			return err
		}
	}
	if err := checker.Check(ctx, uuid, g.record.Repaired(uuid)); err != nil {
		return err
	}
	return g.record.Slow(uuid)
}

func (g *GPUs) waitIdle(ctx context.Context, uuid string) error {
	ctx, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	why := ""
	err := g.locks.WaitIdle(ctx, []string{uuid}, func(reason string) { why = reason })
	if err != nil {
		return fmt.Errorf("it is not idle: %s", why)
	}
	return nil
}

func (g *GPUs) reset(ctx context.Context, uuid string) error {
	resetter, ok := g.source.(gpu.Resetter)
	if !ok {
		return errors.New("this host has no way to reset a GPU")
	}
	if device, _ := g.current().Device(uuid); device.MIGDevice != nil {
		return fmt.Errorf("it is a MIG device, and only its whole GPU %s is reset: drain the host, then `nvidia-smi --gpu-reset --id=%s`", device.MIGDevice.Parent, device.MIGDevice.Parent)
	}
	if err := resetter.Reset(ctx, uuid); err != nil {
		return err
	}
	g.record.MarkReset(uuid)
	return nil
}

// Check has a GPU of this host checked as soon as no task has it, and reset before. Until it has passed it gets no tasks. spec.ErrNotFound.
func (g *GPUs) Check(uuid string, reset bool) error {
	if _, has := g.current().Device(uuid); !has {
		return fmt.Errorf("GPU %s: %w", uuid, spec.ErrNotFound)
	}
	g.record.Request(uuid, reset, time.Now())
	return nil
}

// Forget makes this host forget a GPU that is missing: it was taken out. gpu.ErrPresent when its driver lists it, spec.ErrNotFound when the host
// never had it.
func (g *GPUs) Forget(uuid string) error {
	had, err := g.record.Forget(uuid)
	if err == nil && !had {
		err = spec.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return nil
}

// CheckOutcome is the outcome so far of the last check of a GPU that Check has asked for. spec.ErrNotFound.
func (g *GPUs) CheckOutcome(uuid string) (gpu.CheckOutcome, error) {
	outcome, ok := g.record.Outcome(uuid)
	if !ok {
		return outcome, fmt.Errorf("a check of GPU %s: %w", uuid, spec.ErrNotFound)
	}
	return outcome, nil
}
