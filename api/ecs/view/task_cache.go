package view

import (
	"hash/fnv"
	"sync/atomic"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// taskCacheSize bounds how many rendered tasks are kept: some 3 KB each.
const taskCacheSize = 2048

// TaskCache keeps the last rendering of each task, with its JSON: clients that wait for a task describe it again and again,
// and mostly nothing has changed. Each task has one slot, which another one may take over. The zero value is ready, and it is
// safe for concurrent use.
type TaskCache struct {
	slots [taskCacheSize]atomic.Pointer[cachedTask]
}

type cachedTask struct {
	key  taskKey
	task *types.RenderedTask
}

// taskKey is all that the rendering of a task depends on (see Renderer.Task). Objects of the state are never changed but
// replaced, so equal pointers are equal objects.
type taskKey struct {
	task       *spec.Task
	definition *spec.TaskDefinition
	host       *spec.Host
	connected  bool
	region     string
	tags       bool
}

// Task returns a task with its JSON, from the cache where nothing has changed. The result is shared and must not be changed.
// A nil cache renders every time.
func (c *TaskCache) Task(r *Renderer, t *spec.Task, withTags bool) (*types.RenderedTask, error) {
	key := taskKey{task: t, definition: r.definition(t.Definition), region: r.Region, tags: withTags}
	if t.HostID != "" {
		key.host, key.connected = r.host(t.HostID)
	}
	slot := c.slotFor(t.ID)
	if last := slot.Load(); last != nil && last.key == key {
		return last.task, nil
	}
	rendered := &types.RenderedTask{Task: r.Task(t, withTags)}
	var err error
	if rendered.JSON, err = wire.Append(nil, &rendered.Task); err != nil {
		return nil, err
	}
	slot.Store(&cachedTask{key, rendered})
	return rendered, nil
}

// slotFor is the slot of a task; of a nil cache it is a new one, which nobody else sees.
func (c *TaskCache) slotFor(taskID string) *atomic.Pointer[cachedTask] {
	if c == nil {
		return new(atomic.Pointer[cachedTask])
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(taskID)) // never fails
	return &c.slots[sum.Sum32()%taskCacheSize]
}
