package node

import (
	"context"
	"errors"
	"time"

	"pinion/raftfsm/spec"
)

// watchHealth runs the container's health check again and again until ctx ends, and reports what it finds when that
// changes. Failures in the start period do not count, unless a check has passed before. While the runtime cannot be
// asked, nothing is found: an outage of ours says nothing about the container.
func (r *runner) watchHealth(ctx context.Context, c *container, started time.Time) {
	check := c.def.HealthCheck
	if check == nil {
		return
	}
	var grace time.Time // until when failures do not count
	if check.StartPeriod != nil {
		grace = started.Add(seconds(*check.StartPeriod))
	}
	for failures := 0; pause(ctx, seconds(check.Interval)) == nil; {
		begun := time.Now()
		passed, err := r.check(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.log.Warn("health check could not be run", "container", c.def.Name, "err", err)
		case passed:
			failures, grace = 0, time.Time{}
			r.setHealth(c, spec.Healthy)
		case begun.Before(grace):
		default:
			if failures++; failures >= check.Retries {
				r.setHealth(c, spec.Unhealthy)
			}
		}
	}
}

// check runs the health check once. One that does not end in time has failed.
func (r *runner) check(ctx context.Context, c *container) (passed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, seconds(c.def.HealthCheck.Timeout))
	defer cancel()
	code, err := r.node.config.Checks.Check(ctx, c.id, checkCommand(c.def.HealthCheck.Command))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false, nil
	}
	return code == 0, err
}

// checkCommand makes of a health check's command, in ECS's form, the words to run.
func checkCommand(command []string) []string {
	if command[0] == "CMD-SHELL" {
		return append([]string{"/bin/sh", "-c"}, command[1:]...)
	}
	return command[1:]
}

// setHealth reports the container's health when it is another than before.
func (r *runner) setHealth(c *container, health spec.Health) {
	if r.reported(c).Health == health {
		return
	}
	r.log.Info("container", "container", c.def.Name, "health", health)
	r.update(func(report *spec.TaskReport) { report.Containers[c.index].Health = health })
	if health == spec.Healthy {
		c.healthy.close()
	}
	r.publish()
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
