package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tags by which a task says how it waits, whose share it counts for, and what is done when it ends. They are tags so that
// every client of ECS can say them; flags and fields of Pinion's own set the same tags.
const (
	TagPriority    = "pinion.priority"      // 0 to 100, the highest first; default 0
	TagTeam        = "pinion.team"          // whose share and quota it counts for
	TagTimeLimit   = "pinion.time-limit"    // it is stopped so long after it started: "30m", "12h"
	TagIdleTimeout = "pinion.idle-timeout"  // it is stopped when its GPUs have done nothing for so long: "30m"
	TagIdleAction  = "pinion.idle-action"   // what is done then: "stop", the default, or "requeue": it waits again
	TagPreemptible = "pinion.preemptible"   // "true": it gives way to a task of higher priority, and waits again
	TagRetries     = "pinion.retries"       // 0 to 100: so often it is run again when it fails
	TagRetryOn     = "pinion.retry-on"      // exit codes that are worth it, "1 137"; default: all but 0
	TagAfter       = "pinion.after"         // what has to end before: "TASK any:TASK group:NAME any:group:NAME"
	TagGang        = "pinion.gang"          // "true": all tasks of the run or none, and one fails, all stop
	TagWaitForHost = "pinion.wait-for-host" // "false": a run fails that no host of the cluster could ever run, instead of waiting for one
	TagHold        = "pinion.hold"          // "true": RunTask holds the tasks, which wait until they are released; later it says nothing
)

// Bounds of scheduling options.
const (
	MaxPriority     = 100
	MaxRetries      = 100
	MaxDependencies = 32
	MinTimeLimit    = time.Second
	MaxTimeLimit    = 10 * 365 * 24 * time.Hour
	MinIdleTimeout  = time.Minute
)

// SchedulingOptions are the options for scheduling a task that its tags set.
type SchedulingOptions struct {
	Priority     int
	Team         string        // "" is a team as any other
	TimeLimit    time.Duration // 0: none
	IdleTimeout  time.Duration // 0: none
	IdleRequeue  bool          // it queues again at its idle timeout
	Preemptible  bool
	Retries      int
	RetryOn      []int // exit codes; nil: all but 0
	Dependencies []TaskDependency
	Gang         bool
	Hold         bool // is held from the beginning
	NeedsHost    bool // fails when no host there is could ever run it
	// GPUAlternatives are in place of the number of GPUs of its definition, the preferred one first; nil: there are none.
	GPUAlternatives []GPUAlternative
}

// ParseSchedulingOptions reads the terms of a task. The error says which tag is wrong and what it may be; the other tags are read.
func ParseSchedulingOptions(tags []Tag) (SchedulingOptions, error) {
	if len(tags) == 0 { // most have none, and they are asked often
		return SchedulingOptions{}, nil
	}
	var (
		t     SchedulingOptions
		wrong error
	)
	for _, tag := range tags {
		read, known := schedulingTags[tag.Key]
		if !known {
			continue
		}
		if err := read(&t, tag.Value); err != nil && wrong == nil {
			wrong = fmt.Errorf("the tag %s is %q: %w", tag.Key, tag.Value, err)
		}
	}
	return t, wrong
}

// TimeLimitReason is the stopped reason of a task that has reached its time limit.
func TimeLimitReason(limit time.Duration) string {
	return fmt.Sprintf("The task reached its time limit of %s (%s)", limit, TagTimeLimit)
}

// IdleReason is the stopped reason of a task whose GPUs have done nothing for so long.
func IdleReason(timeout time.Duration) string {
	return fmt.Sprintf("The GPUs of the task did nothing for %s (%s)", timeout, TagIdleTimeout)
}

// What the stopped reasons begin with of tasks that the pool stopped because they failed.
const (
	timeLimitReached = "The task reached its time limit"
	dependencyFailed = "It waited for "
)

// GPUFault begins the stopped reason of a task that its host ended for an error of its GPU.
const GPUFault = "GPUFaultError: "

// OutOfMemory begins the reason of a container that the kernel killed because it used more memory than it has. The word is ECS's.
const OutOfMemory = "OutOfMemoryError"

// OutOfMemory reports whether a container of the task was killed because it used more memory than it has.
func (t *Task) OutOfMemory() bool {
	return slices.ContainsFunc(t.Containers, func(c Container) bool { return strings.HasPrefix(c.Reason, OutOfMemory) })
}

// StoppedAsFailed reports whether the pool stopped the task because it failed: it reached its time limit, what it waited for failed, or its GPU
// did. The stop code is the one of other stops too, such as that of a drained host.
func (t *Task) StoppedAsFailed() bool {
	return t.GPUFailed() || t.StopCode == StopScheduler && (strings.HasPrefix(t.StoppedReason, timeLimitReached) || strings.HasPrefix(t.StoppedReason, dependencyFailed))
}

// GPUFailed reports whether the host of the task ended it for an error of its GPU. That is a failure whatever its exit code, and not the task's.
func (t *Task) GPUFailed() bool {
	return t.StopCode != StopUserInitiated && t.StopCode != StopPreempted && strings.HasPrefix(t.StoppedReason, GPUFault)
}

// SchedulingOptions are the task's. What cannot be read was recorded before anybody checked, and counts as not said.
func (t *Task) SchedulingOptions() SchedulingOptions {
	options, _ := ParseSchedulingOptions(t.Tags)
	return options
}

// ReservedTagKeys lists the keys of the tags of tasks that mean something to Pinion, sorted.
func ReservedTagKeys() []string {
	keys := append(slices.Collect(maps.Keys(schedulingTags)), TagLostAfter, TagShare)
	slices.Sort(keys)
	return keys
}

var schedulingTags = map[string]func(*SchedulingOptions, string) error{
	TagPriority: func(t *SchedulingOptions, s string) (err error) {
		t.Priority, err = parseIntUpTo(s, MaxPriority)
		return err
	},
	TagTeam: func(t *SchedulingOptions, s string) error {
		if t.Team = s; s == "" {
			return errors.New("write the name of a team, or leave the tag out")
		}
		return nil
	},
	TagTimeLimit: func(t *SchedulingOptions, s string) (err error) {
		t.TimeLimit, err = parseSpanFrom(s, MinTimeLimit)
		return err
	},
	TagIdleTimeout: func(t *SchedulingOptions, s string) (err error) {
		t.IdleTimeout, err = parseSpanFrom(s, MinIdleTimeout)
		return err
	},
	TagIdleAction: func(t *SchedulingOptions, s string) error {
		if t.IdleRequeue = s == "requeue"; !t.IdleRequeue && s != "stop" {
			return errors.New("write stop or requeue")
		}
		return nil
	},
	TagPreemptible: func(t *SchedulingOptions, s string) (err error) { t.Preemptible, err = parseBool(s); return err },
	TagRetries: func(t *SchedulingOptions, s string) (err error) {
		t.Retries, err = parseIntUpTo(s, MaxRetries)
		return err
	},
	TagRetryOn: func(t *SchedulingOptions, s string) error {
		var codes []int
		for _, word := range strings.Fields(s) {
			code, err := parseIntUpTo(word, 255)
			if err != nil {
				return fmt.Errorf(`write exit codes from 0 to 255 with spaces between, such as "1 137"`)
			}
			codes = append(codes, code)
		}
		t.RetryOn = codes
		return nil
	},
	TagAfter: func(t *SchedulingOptions, s string) (err error) {
		t.Dependencies, err = parseDependencies(s)
		return err
	},
	TagGPUAlternatives: func(t *SchedulingOptions, s string) (err error) {
		t.GPUAlternatives, err = ParseGPUAlternatives(s)
		return err
	},
	TagHold: func(t *SchedulingOptions, s string) (err error) { t.Hold, err = parseBool(s); return err },
	TagGang: func(t *SchedulingOptions, s string) (err error) { t.Gang, err = parseBool(s); return err },
	TagWaitForHost: func(t *SchedulingOptions, s string) error {
		waits, err := parseBool(s)
		t.NeedsHost = err == nil && !waits
		return err
	},
}

func parseIntUpTo(s string, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("write a whole number from 0 to %d", most)
	}
	return n, nil
}

func parseSpanFrom(s string, least time.Duration) (time.Duration, error) {
	span, err := time.ParseDuration(s)
	if err != nil || span < least || span > MaxTimeLimit {
		return 0, fmt.Errorf(`write a span of time from %v to %.0fh, such as "30m" or "12h"`, least, MaxTimeLimit.Hours())
	}
	return span, nil
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, fmt.Errorf(`write "true" or "false"`)
	}
	return s == "true", nil
}
