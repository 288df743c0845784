package ecs

import (
	"hash/fnv"
	"sync/atomic"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// rememberedTasks bounds how many tasks are kept as they were shown: some 3 KB each.
const rememberedTasks = 2048

// Shown remembers tasks as they were shown last, with their JSON. Whoever waits for a task asks about it again and again, and
// mostly nothing has changed. Each task has one place, where another one takes it over later. The zero value is ready, and
// it is safe for concurrent use.
type Shown struct {
	places [rememberedTasks]atomic.Pointer[shownTask]
}

type shownTask struct {
	of   basis
	task *task
}

// basis is all that the form of a task depends on (see Call.task). Objects of the state are never changed but replaced, so
// the same one says the same.
type basis struct {
	task       *spec.Task
	definition *spec.TaskDefinition
	host       *spec.Host
	connected  bool
	region     string
	tags       bool
}

// shown is a task with its JSON, for everyone to read and nobody to change.
func (c *Call) shown(t *spec.Task, withTags bool) (*task, error) {
	of := basis{task: t, definition: c.knownDefinition(t.Definition), region: c.Region, tags: withTags}
	if t.HostID != "" {
		of.host, of.connected = c.knownHost(t.HostID)
	}
	place := c.Shown.placeOf(t.ID)
	if last := place.Load(); last != nil && last.of == of {
		return last.task, nil
	}
	fresh := c.task(t, withTags)
	var err error
	if fresh.text, err = wire.Append(nil, &fresh); err != nil {
		return nil, err
	}
	place.Store(&shownTask{of, &fresh})
	return &fresh, nil
}

// placeOf is where a task is remembered. Nobody else sees the place when nothing is to be remembered.
func (s *Shown) placeOf(taskID string) *atomic.Pointer[shownTask] {
	if s == nil {
		return new(atomic.Pointer[shownTask])
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(taskID)) // never fails
	return &s.places[sum.Sum32()%rememberedTasks]
}
