package nvml

import (
	"sync"

	"pinion/gpu/nvml/protocol"
)

// cdiCache holds the CDI specification until something changes: a driver event, the end of the helper, another
// inventory. The zero value is ready to use.
type cdiCache struct {
	mu         sync.Mutex
	spec       *protocol.Spec // nil: none
	generation uint64         // counts the changes
}

// get returns the specification, or nil and the generation that put takes.
func (c *cdiCache) get() (spec *protocol.Spec, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spec, c.generation
}

// put keeps a specification that was made for a generation, unless something has changed since.
func (c *cdiCache) put(spec *protocol.Spec, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation == c.generation {
		c.spec = spec
	}
}

// drop makes the next start ask for a new specification.
func (c *cdiCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spec = nil
	c.generation++
}
