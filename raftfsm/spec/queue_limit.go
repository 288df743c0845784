package spec

import "fmt"

// MaxQueued is how many tasks may wait in one cluster. Tasks that are tried again come on top of it.
const MaxQueued = 200_000

// ErrQueueFull refuses tasks beyond MaxQueued, in the words that ECS clients match.
var ErrQueueFull = fmt.Errorf("provisioning capacity limit exceeded: at most %d tasks can wait in a cluster, try again when some have started", MaxQueued)
