package node

import (
	"context"
	"errors"
	"time"

	"pinion/raftfsm/spec"
)

// monitorHealth runs the container's health check again and again until ctx ends, and reports what it finds when that
// changes. Failures in the start period do not count, unless a check has passed before. While the runtime cannot be
// asked, nothing is found: an outage of ours says nothing about the container.
func (r *runner) monitorHealth(ctx context.Context, c *container, started time.Time) {
	check := c.def.HealthCheck
	if check == nil {
		return
	}
	var graceUntil time.Time // until when failures do not count
	if check.StartPeriod != nil {
		graceUntil = started.Add(seconds(*check.StartPeriod))
	}
	for failures := 0; sleep(ctx, seconds(check.Interval)) == nil; {
		checkedAt := time.Now()
		passed, err := r.runHealthCheck(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.log.Warn("health check could not be run", "container", c.def.Name, "err", err)
		case passed:
			failures, graceUntil = 0, time.Time{}
			r.reportHealth(c, spec.Healthy)
		case checkedAt.Before(graceUntil):
		default:
			if failures++; failures >= check.Retries {
				r.reportHealth(c, spec.Unhealthy)
			}
		}
	}
}

// runHealthCheck runs the health check once. One that does not end in time has failed.
func (r *runner) runHealthCheck(ctx context.Context, c *container) (passed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, seconds(c.def.HealthCheck.Timeout))
	defer cancel()
	code, err := r.node.config.Execer.Exec(ctx, c.id, healthCheckCommand(c.def.HealthCheck.Command))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false, nil
	}
	return code == 0, err
}

// healthCheckCommand makes of a health check's command, in ECS's form, the words to run.
func healthCheckCommand(command []string) []string {
	if command[0] == "CMD-SHELL" {
		return append([]string{"/bin/sh", "-c"}, command[1:]...)
	}
	return command[1:]
}

// reportHealth reports the container's health when it is another than before.
func (r *runner) reportHealth(c *container, health spec.Health) {
	if r.containerReport(c).Health == health {
		return
	}
	r.log.Info("container", "container", c.def.Name, "health", health)
	r.updateReport(func(report *spec.TaskReport) { report.Containers[c.index].Health = health })
	if health == spec.Healthy {
		c.healthy.close()
	}
	r.queueReport()
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
