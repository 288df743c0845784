package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/raftfsm/spec"
)

// maxTasks is how many tasks one `pinion run` starts at most.
const maxTasks = 1000

// batchFlags say how many tasks there are, how they wait, and what is done when they end.
func batchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "count", Value: 1, Usage: "start `N` tasks, 1 to 1000, such as --count 8"},
		&cli.StringFlag{Name: "array", Usage: "start a task for each number of `FIRST-LAST`, such as 0-99, and tell it the number in PINION_ARRAY_INDEX"},
		&cli.BoolFlag{Name: "gang", Usage: "start all tasks together or none, near one another, and stop all when one fails: they find RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in their environment, as torchrun does; use --network host for traffic between all ranks"},
		&cli.StringFlag{Name: "group", DefaultText: "family:run-NAME", Usage: "task group `NAME`, by which other tasks can wait for these: --group nightly"},
		&cli.StringSliceFlag{Name: "after", Usage: "start when `WHAT` has succeeded: a TASK, or group:NAME for all tasks of a group; any:TASK and any:group:NAME when it may have failed; may be repeated"},
		&cli.StringFlag{Name: "retries", DefaultText: "0", Usage: "run a task again that fails, up to `N` times, 0 to 100, after 1 s, 2 s, 4 s and so on; PINION_ATTEMPT counts"},
		&cli.StringSliceFlag{Name: "retry-on", DefaultText: "all but 0", Usage: "exit `CODE` that is worth a retry, such as --retry-on 137; may be repeated"},
		&cli.StringFlag{Name: "priority", DefaultText: "0", Usage: "`N` from 0 to 100; of tasks that wait the highest is next, such as --priority 50"},
		&cli.StringFlag{Name: "team", Usage: "count for the share and the quota of the team `NAME`, such as --team vision (see pinion quota)"},
		&cli.StringFlag{Name: "time-limit", DefaultText: "none", Usage: "stop a task `TIME` after it has started, such as 30m or 12h; others may then start before their turn in the gap before it"},
		&cli.BoolFlag{Name: "preemptible", Usage: "let a task give way to one of higher priority, and wait again"},
		&cli.BoolFlag{Name: "no-wait", Usage: "fail at once when there is no place, instead of waiting for one"},
	}
}

// batchOptions is how many tasks a command line asks for.
type batchOptions struct {
	count int
	array string // FIRST-LAST; empty: they have no numbers
	gang  bool
	group string
	wait  bool // they wait for a place
}

var arrayRange = regexp.MustCompile(`^([0-9]{1,9})-([0-9]{1,9})$`)

// parseBatchOptions reads how many tasks are to be started.
func parseBatchOptions(c *cli.Context) (batchOptions, error) {
	m := batchOptions{count: c.Int("count"), array: c.String("array"), gang: c.Bool("gang"), group: c.String("group"), wait: !c.Bool("no-wait")}
	if m.count < 1 || m.count > maxTasks {
		return m, usageErrorf("--count %d: write a number from 1 to %d", m.count, maxTasks)
	}
	if c.IsSet("array") {
		if c.IsSet("count") {
			return m, usageErrorf("--count and --array both say how many tasks there are: give one of them")
		}
		if err := m.parseArray(); err != nil {
			return m, err
		}
	}
	for _, flag := range []string{"after", "array"} {
		if !m.wait && c.IsSet(flag) {
			return m, usageErrorf("--%s is for tasks that may wait: leave out --no-wait", flag)
		}
	}
	if c.IsSet("retry-on") && !c.IsSet("retries") {
		return m, usageErrorf("--retry-on says when to try again: say how often with --retries N")
	}
	return m, nil
}

func (o *batchOptions) parseArray() error {
	parts := arrayRange.FindStringSubmatch(o.array)
	if parts == nil {
		return usageErrorf("--array %q: write the first and the last number, such as 0-99", o.array)
	}
	first, _ := strconv.Atoi(parts[1])
	last, _ := strconv.Atoi(parts[2])
	if o.count = last - first + 1; o.count < 1 || o.count > maxTasks {
		return usageErrorf("--array %s: that are %d tasks; 1 to %d can be started at once", o.array, o.count, maxTasks)
	}
	return nil
}

// addToRequest adds to a RunTask what these flags say.
func (o batchOptions) addToRequest(in map[string]any) {
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
		in["launchType"] = "EC2" // or the cluster's own strategy would have them wait
	}
}

// tagFlags are the flags whose values are those of a tag.
var tagFlags = []struct{ flag, tag string }{
	{"lost-after", spec.TagLostAfter},
	{"priority", spec.TagPriority},
	{"team", spec.TagTeam},
	{"time-limit", spec.TagTimeLimit},
	{"retries", spec.TagRetries},
	{"retry-on", spec.TagRetryOn},
	{"after", spec.TagAfter},
	{"preemptible", spec.TagPreemptible},
	{"gang", spec.TagGang},
}

// parseTags are the wishes of the command line that a task carries as tags.
func parseTags(c *cli.Context) ([]spec.Tag, error) {
	var tags []spec.Tag
	for _, known := range tagFlags {
		if !c.IsSet(known.flag) {
			continue
		}
		value := fmt.Sprint(c.Value(known.flag))
		if slice, several := c.Value(known.flag).(cli.StringSlice); several {
			value = strings.Join(slice.Value(), " ")
		}
		tag := spec.Tag{Key: known.tag, Value: value}
		if err := validateTag(tag); err != nil {
			return nil, usageErrorf("--%s %s: %w", known.flag, value, err)
		}
		tags = append(tags, tag)
	}
	return tags, nil
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

// resolveDependencies completes the ids in what a task waits for, which may be written shortened.
func (s *session) resolveDependencies(ctx context.Context, cluster string, tags []spec.Tag) error {
	for i, tag := range tags {
		if tag.Key != spec.TagAfter {
			continue
		}
		terms, err := spec.ParseSchedulingOptions([]spec.Tag{tag})
		if err != nil {
			return err
		}
		var words []string
		for _, after := range terms.Dependencies {
			if after.Task != "" {
				ids, err := s.resolveTaskIDs(ctx, cluster, []string{after.Task})
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
