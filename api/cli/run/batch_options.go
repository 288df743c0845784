package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// maxTasks bounds the tasks of one `pinion run`.
const maxTasks = 1000

// batchFlags are the flags about several tasks.
func batchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "count", Value: 1, Usage: "start `N` tasks, 1 to 1000"},
		&cli.StringFlag{Name: "array", Usage: "start a task for each index of `FIRST-LAST`, such as 0-99; PINION_ARRAY_INDEX has it"},
		&cli.BoolFlag{Name: "gang", Usage: "start and stop all tasks together, near one another, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set; use --network host"},
		&cli.StringFlag{Name: "group", DefaultText: "family:run-NAME", Usage: "task group `NAME`, for --after, stop, logs and why"},
		&cli.StringSliceFlag{Name: "after", Usage: "start after `WHAT` has succeeded: TASK or group:NAME; any:TASK or any:group:NAME also after a failure; repeatable"},
	}
}

// waitFlags are the flags about the queue, and about what happens when a task fails.
func waitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "priority", DefaultText: "0", Usage: "`N` from 0 to 100; the highest is next in the queue"},
		&cli.StringFlag{Name: "team", Usage: "run for the team `NAME`: its quota, weight and usage count (see pinion team)"},
		&cli.StringFlag{Name: "time-limit", DefaultText: "none", Usage: "stop a task `TIME` after its start, such as 12h or 2d, or as Slurm writes it (MM, HH:MM:SS, D-HH); lets it backfill the queue"},
		&cli.StringFlag{Name: "idle-timeout", DefaultText: "none", Usage: "stop a task when its GPUs have done nothing for so long `TIME`, such as 30m; half of it before, 'pinion why' and events say so"},
		&cli.StringFlag{Name: "idle-action", DefaultText: "stop", Usage: "`WHAT` to do at the idle timeout: stop, or requeue, with which the task queues again"},
		&cli.BoolFlag{Name: "preemptible", Usage: "may be stopped for tasks of higher priority, and then queues again"},
		&cli.BoolFlag{Name: "no-wait", Usage: "fail at once when no host can run the task now"},
		&cli.BoolFlag{Name: "wait-for-host", Usage: "wait, instead of failing, when no host there is could ever run the task"},
		&cli.BoolFlag{Name: "hold", Usage: "keep the task in the queue until 'pinion task release'"},
		&cli.StringFlag{Name: "retries", DefaultText: "0", Usage: "retry a failed task up to `N` times, after 1 s, 2 s, 4 s ...; PINION_ATTEMPT counts"},
		&cli.StringSliceFlag{Name: "retry-on", DefaultText: "all but 0", Usage: "retry only on exit `CODE`, such as 137; repeatable"},
		&cli.StringFlag{Name: "lost-after", DefaultText: "the pool's", Usage: "`TIME` until the task is STOPPED when its host is unreachable, such as 10m; or never"},
	}
}

// batchOptions are the number of tasks and how they are started.
type batchOptions struct {
	count int
	array string // FIRST-LAST; empty: no array
	gang  bool
	group string
	wait  bool // in the queue
	// waitForHost is to wait also while no host there is could ever run the tasks.
	waitForHost bool
}

var arrayRange = lazyregexp.New(`^([0-9]{1,9})-([0-9]{1,9})$`)

// parseBatchOptions reads and checks the flags.
func parseBatchOptions(c *cli.Context) (batchOptions, error) {
	m := batchOptions{count: c.Int("count"), array: c.String("array"), gang: c.Bool("gang"), group: c.String("group"), wait: !c.Bool("no-wait"), waitForHost: c.Bool("wait-for-host")}
	if m.count < 1 || m.count > maxTasks {
		return m, exit.Usagef("--count %d: must be from 1 to %d", m.count, maxTasks)
	}
	if c.IsSet("array") {
		if c.IsSet("count") {
			return m, exit.Usagef("--count and --array exclude each other")
		}
		if err := m.parseArray(); err != nil {
			return m, err
		}
	}
	for _, flag := range []string{"after", "array", "hold"} {
		if !m.wait && c.IsSet(flag) {
			return m, exit.Usagef("--%s and --no-wait exclude each other: the task may have to wait", flag)
		}
	}
	if c.IsSet("retry-on") && !c.IsSet("retries") {
		return m, exit.Usagef("--retry-on needs --retries N")
	}
	return m, nil
}

func (o *batchOptions) parseArray() error {
	parts := arrayRange.FindStringSubmatch(o.array)
	if parts == nil {
		return exit.Usagef("--array %q: write the first and the last index, such as 0-99. There are no lists (1,3), steps (0-9:3) and throttles (0-9%%2): a team's quota bounds what runs at once", o.array)
	}
	first, _ := strconv.Atoi(parts[1])
	last, _ := strconv.Atoi(parts[2])
	if last < first {
		return exit.Usagef("--array %s is an empty range: the first index comes first, such as %d-%d", o.array, last, first)
	}
	if o.count = last - first + 1; o.count < 1 || o.count > maxTasks {
		return exit.Usagef("--array %s: %d tasks; 1 to %d can be started at once", o.array, o.count, maxTasks)
	}
	return nil
}

// addToInput adds the options to the input of RunTask.
func (o batchOptions) addToInput(in map[string]any) {
	if o.array != "" {
		delete(in, "count")
		in["array"] = o.array
	} else {
		in["count"] = o.count
	}
	if o.group != "" {
		in["group"] = o.group
	}
	if o.wait {
		in["capacityProviderStrategy"] = []map[string]any{{"capacityProvider": spec.BuiltinCapacityProvider, "weight": 1}}
	} else {
		in["launchType"] = "EC2" // overrides the capacity provider strategy of the cluster
	}
}

// tagFlags are the flags that set a tag.
var tagFlags = []struct{ flag, tag string }{
	{"lost-after", spec.TagLostAfter},
	{"priority", spec.TagPriority},
	{"team", spec.TagTeam},
	{"time-limit", spec.TagTimeLimit},
	{"idle-timeout", spec.TagIdleTimeout},
	{"idle-action", spec.TagIdleAction},
	{"retries", spec.TagRetries},
	{"retry-on", spec.TagRetryOn},
	{"after", spec.TagAfter},
	{"preemptible", spec.TagPreemptible},
	{"hold", spec.TagHold},
	{"gang", spec.TagGang},
	{"gpu-alternatives", spec.TagGPUAlternatives},
}

// spanFlags are those of them that take a span of time, with how it is read.
var spanFlags = map[string]func(string) (time.Duration, error){"lost-after": format.ParseSpan, "time-limit": format.ParseTimeLimit, "idle-timeout": format.ParseSpan}

// hostSpan is a span of time as hosts read it, which know no days and no form of Slurm's; what is none stays as it is, and is refused.
func hostSpan(text string, parse func(string) (time.Duration, error)) string {
	if _, err := time.ParseDuration(text); err == nil {
		return text
	}
	span, err := parse(text)
	if err != nil {
		return text
	}
	return span.String()
}

// ParseTags returns the flags that tasks carry as tags. The error is all that is wrong with them.
func ParseTags(c *cli.Context) ([]spec.Tag, error) {
	var tags []spec.Tag
	var wrong []error
	for _, known := range tagFlags {
		if !c.IsSet(known.flag) {
			continue
		}
		value := fmt.Sprint(c.Value(known.flag))
		if slice, several := c.Value(known.flag).(cli.StringSlice); several {
			value = strings.Join(slice.Value(), " ")
		}
		tag := spec.Tag{Key: known.tag, Value: value}
		if parse := spanFlags[known.flag]; parse != nil {
			tag.Value = hostSpan(value, parse)
		}
		if err := validateTag(tag); err != nil {
			wrong = append(wrong, exit.Usagef("--%s %s: %w", known.flag, value, err))
		}
		tags = append(tags, tag)
	}
	return tags, exit.Join(wrong...)
}

func validateTag(tag spec.Tag) error {
	if tag.Key == spec.TagLostAfter {
		return spec.CheckLostAfter([]spec.Tag{tag})
	}
	if tag.Value == "" {
		return errors.New("write a value")
	}
	_, err := spec.ParseSchedulingOptions([]spec.Tag{tag})
	return errors.Unwrap(err) // without the name of the tag
}

// resolveDependencies completes abbreviated task ids in the dependencies.
func resolveDependencies(ctx context.Context, inv *invocation.Invocation, cluster string, tags []spec.Tag) error {
	for i, tag := range tags {
		if tag.Key != spec.TagAfter {
			continue
		}
		options, err := spec.ParseSchedulingOptions([]spec.Tag{tag})
		if err != nil {
			return err
		}
		var words []string
		for _, after := range options.Dependencies {
			if after.Task != "" {
				ids, err := selection.Resolve(ctx, inv, cluster, []string{after.Task})
				if err != nil {
					return err
				}
				after.Task = ids[0]
			}
			words = append(words, after.String())
		}
		tags[i].Value = strings.Join(words, " ")
	}
	return nil
}
