package query

import "sync"

// maxCached bounds each of the two generations of a cache, in characters of expressions and instructions of their patterns: some ten megabytes.
const maxCached = 100_000

// Cache keeps parsed expressions by their text, those that were used last. The zero value is empty. It is safe for concurrent use.
type Cache struct {
	mu            sync.Mutex
	recent, older map[string]*Expr // older was recent until recent had reached its bound
	size          int              // of recent
}

// Parse is Parse, which parses an expression once as long as it is used now and then. Errors are not kept.
func (c *Cache) Parse(expression string) (*Expr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.recent[expression]; known != nil {
		return known, nil
	}
	known := c.older[expression]
	if known == nil {
		parsed, err := Parse(expression)
		if err != nil {
			return nil, err
		}
		known = parsed
	}
	size := len(expression) + known.instructions
	if c.recent == nil || c.size+size > maxCached {
		c.recent, c.older, c.size = map[string]*Expr{}, c.recent, 0
	}
	c.recent[expression] = known
	c.size += size
	return known, nil
}
