package task

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"pinion/node/runtime"
	"pinion/packaging/backoff"
	"pinion/raftfsm/spec"
)

// healthHook runs the health checks of containers and reports their findings.
type healthHook struct {
	execer runtime.Execer
	log    *slog.Logger
	report func() // queues the report of the task
}

var _ PoststartHook = (*healthHook)(nil)

func (h *healthHook) Name() string { return "health" }

// Poststart runs the container's health check at its interval. Failures in the start period do not count, unless a check
// has passed before. A check that the runtime cannot run has no result: an outage of ours says nothing about the
// container.
func (h *healthHook) Poststart(ctx context.Context, c *Container, startedAt time.Time) {
	check := c.Def.HealthCheck
	if check == nil {
		return
	}
	var graceUntil time.Time // until when failures do not count
	if check.StartPeriod != nil {
		graceUntil = startedAt.Add(seconds(*check.StartPeriod))
	}
	for failures := 0; backoff.Sleep(ctx, seconds(check.Interval)) == nil; {
		checkedAt := time.Now()
		passed, err := h.check(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.log.Warn("health check could not be run", "container", c.Def.Name, "error", err)
		case passed:
			failures, graceUntil = 0, time.Time{}
			h.record(c, spec.Healthy)
		case checkedAt.Before(graceUntil):
		default:
			if failures++; failures >= check.Retries {
				h.record(c, spec.Unhealthy)
			}
		}
	}
}

// check runs the health check once. One that does not end in time has failed.
func (h *healthHook) check(ctx context.Context, c *Container) (passed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, seconds(c.Def.HealthCheck.Timeout))
	defer cancel()
	code, err := h.execer.Exec(ctx, c.ID, runtime.ExecRequest{Cmd: healthCheckCommand(c.Def.HealthCheck.Command)})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false, nil
	}
	return code == 0, err
}

// healthCheckCommand turns a health check's command, in ECS's form, into arguments.
func healthCheckCommand(command []string) []string {
	if command[0] == "CMD-SHELL" {
		return append([]string{"/bin/sh", "-c"}, command[1:]...)
	}
	return command[1:]
}

// record reports the container's health when it has changed.
func (h *healthHook) record(c *Container, health spec.Health) {
	if c.report().Health == health {
		return
	}
	h.log.Info("container", "container", c.Def.Name, "health", health)
	c.updateReport(func(report *spec.ContainerReport) { report.Health = health })
	if health == spec.Healthy {
		c.healthy.set()
	}
	h.report()
}
