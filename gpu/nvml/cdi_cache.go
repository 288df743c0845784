package nvml

import (
	"sync"

	"pinion/gpu/nvml/protocol"
)

// cdiCache holds the CDI specification until a change invalidates it: a driver event, the exit of the helper, or another
// inventory. The zero value is ready to use.
type cdiCache struct {
	mu         sync.Mutex
	spec       *protocol.Spec // nil: not cached
	generation uint64         // number of invalidations so far
}

// get returns the cached specification, or nil and the generation to pass to put.
func (c *cdiCache) get() (spec *protocol.Spec, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spec, c.generation
}

// put caches a specification that was generated at a generation, unless it was invalidated since.
func (c *cdiCache) put(spec *protocol.Spec, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation == c.generation {
		c.spec = spec
	}
}

// drop invalidates the cache: the next start requests a new specification.
func (c *cdiCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spec = nil
	c.generation++
}
