package ecs

import (
	"hash/fnv"
	"sync/atomic"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// taskCacheSize bounds how many tasks are kept as they were shown: some 3 KB each.
const taskCacheSize = 2048

// TaskCache remembers tasks as they were shown last, with their JSON. Whoever waits for a task asks about it again and again, and
// mostly nothing has changed. Each task has one place, where another one takes it over later. The zero value is ready, and
// it is safe for concurrent use.
type TaskCache struct {
	slots [taskCacheSize]atomic.Pointer[cacheEntry]
}

type cacheEntry struct {
	key  cacheKey
	task *task
}

// cacheKey is all that the form of a task depends on (see Call.task). Objects of the state are never changed but replaced, so
// the same one says the same.
type cacheKey struct {
	task       *spec.Task
	definition *spec.TaskDefinition
	host       *spec.Host
	connected  bool
	region     string
	tags       bool
}

// cachedTask is a task with its JSON, for everyone to read and nobody to change.
func (c *Request) cachedTask(t *spec.Task, withTags bool) (*task, error) {
	key := cacheKey{task: t, definition: c.lookupDefinition(t.Definition), region: c.Region, tags: withTags}
	if t.HostID != "" {
		key.host, key.connected = c.lookupHost(t.HostID)
	}
	slot := c.TaskCache.slotFor(t.ID)
	if last := slot.Load(); last != nil && last.key == key {
		return last.task, nil
	}
	rendered := c.renderTask(t, withTags)
	var err error
	if rendered.text, err = wire.Append(nil, &rendered); err != nil {
		return nil, err
	}
	slot.Store(&cacheEntry{key, &rendered})
	return &rendered, nil
}

// slotFor is where a task is remembered. Nobody else sees the place when nothing is to be remembered.
func (s *TaskCache) slotFor(taskID string) *atomic.Pointer[cacheEntry] {
	if s == nil {
		return new(atomic.Pointer[cacheEntry])
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(taskID)) // never fails
	return &s.slots[sum.Sum32()%taskCacheSize]
}
