package cloudwatchlogs

import (
	"slices"
	"strings"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/spec"
)

// source is where the log of one container of a task definition is found.
type source struct {
	group     string
	prefix    string // of the stream's name; empty: none
	container string
}

// logSource reads a container's log configuration as the awslogs driver does. A container without one has the group /pinion/
// and the family, so that every log can be read.
func logSource(d *spec.TaskDefinition, c *spec.ContainerDefinition) source {
	_, prefix := c.LogConfiguration.Awslogs()
	return source{group: d.LogGroup(c), prefix: prefix, container: c.Name}
}

// stream is the log of one container of one task.
type stream struct {
	name      string // prefix/container/task id; without a prefix, container/task id
	container string
	task      *spec.Task
	since     time.Time // when the group was deleted last: what was written before is gone
}

// isDeleted reports whether the stream ended before its group was deleted.
func (s stream) isDeleted() bool {
	return !s.task.Times.Stopped.IsZero() && s.task.Times.Stopped.Before(s.since)
}

func (s source) streamOf(task *spec.Task, deletedAt time.Time) stream {
	name := s.container + "/" + task.ID
	if s.prefix != "" {
		name = s.prefix + "/" + name
	}
	return stream{name: name, container: s.container, task: task, since: deletedAt}
}

// sources returns the containers of all task definitions whose logs are in a group, by the definition's name. A group that was
// created may have none.
func (c *Request) sources(group string) (map[string][]source, error) {
	if group == "" {
		return nil, wire.Errorf(wire.InvalidParameter, "logGroupName is missing: name the awslogs-group of a task definition, or /pinion/ and its family.")
	}
	found := map[string][]source{}
	for _, d := range c.definitions() {
		for i := range d.Containers {
			if s := logSource(d, &d.Containers[i]); s.group == group {
				found[d.Name()] = append(found[d.Name()], s)
			}
		}
	}
	if len(found) == 0 && c.created(group) == nil {
		return nil, errNoGroup()
	}
	return found, nil
}

// created is what was recorded of a group; nil when nothing was, and for a key of one cluster: groups belong to no cluster.
func (c *Request) created(group string) *loggroup.Group {
	if c.KeyClusters != "" {
		return nil
	}
	return loggroup.Find(c.View, group)
}

// streams lists the streams of a group by name.
func (c *Request) streams(group string) ([]stream, error) {
	sources, err := c.sources(group)
	if err != nil {
		return nil, err
	}
	var all []stream
	deletedAt := loggroup.DeletedAt(c.View, group)
	for _, task := range c.tasks() {
		if task.HostID == "" {
			continue // it has not run anywhere
		}
		for _, s := range sources[task.Definition] {
			if stream := s.streamOf(task, deletedAt); !stream.isDeleted() {
				all = append(all, stream)
			}
		}
	}
	for _, task := range c.endedTasks(group, sources) {
		for _, s := range sources[task.Definition] {
			if stream := s.streamOf(task, deletedAt); !stream.isDeleted() {
				all = append(all, stream)
			}
		}
	}
	slices.SortFunc(all, func(a, b stream) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b stream) bool { return a.name == b.name }), nil
}

// stream finds one stream of a group.
func (c *Request) stream(group, name string) (stream, error) {
	id := name[strings.LastIndexByte(name, '/')+1:]
	task := c.View.Task(id)
	if task == nil {
		task = c.endedTask(id)
	}
	if task != nil && task.HostID != "" && c.KeyClusters.Covers(task.Cluster) && auth.SeesTask(c.Grant, task) {
		if d := c.View.Definition(task.Definition); d != nil {
			for i := range d.Containers {
				s := logSource(d, &d.Containers[i])
				if found := s.streamOf(task, loggroup.DeletedAt(c.View, group)); s.group == group && found.name == name && !found.isDeleted() {
					return found, nil
				}
			}
		}
	}
	if _, err := c.sources(group); err != nil {
		return stream{}, err
	}
	return stream{}, wire.Errorf(notFound, "The specified log stream does not exist.")
}

// groupARN is the ARN of a group without the :* that stands for its streams.
func (c *Request) groupARN(group string) string {
	return "arn:aws:logs:" + c.Region + ":" + spec.AccountID + ":log-group:" + group
}

// parseGroupARN returns the group of an ARN in either form. Regions are not compared: one pool serves all of them.
func parseGroupARN(arn string) (string, error) {
	parts := strings.SplitN(arn, ":", 7)
	if len(parts) != 7 || parts[0] != "arn" || parts[2] != Service || parts[4] != spec.AccountID || parts[5] != "log-group" {
		return "", wire.Errorf(wire.InvalidParameter, "%q is not the ARN of a log group of the account %s.", arn, spec.AccountID)
	}
	return strings.TrimSuffix(parts[6], ":*"), nil
}

// parseGroup returns the group that an input names, by its name or by its identifier: a name or an ARN.
func parseGroup(name, identifier string) (string, error) {
	switch {
	case name != "" && identifier != "":
		return "", wire.Errorf(wire.InvalidParameter, "logGroupName and logGroupIdentifier say the same: give one of them.")
	case strings.HasPrefix(identifier, "arn:"):
		return parseGroupARN(identifier)
	}
	return name + identifier, nil
}
