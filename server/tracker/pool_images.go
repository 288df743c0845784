package tracker

import (
	"time"

	"pinion/raftfsm/blob"
)

// PoolImages knows the images of the pool.
type PoolImages struct {
	Tracker func() (*Tracker, error) // of the server here, while it leads
	Now     func() time.Time
}

// Images lists the images that the hosts of the pool have said they have. It fails with spec.ErrNotLeader where this host does not lead.
func (p PoolImages) Images() ([]blob.HeldImage, error) {
	tracker, err := p.Tracker()
	if err != nil {
		return nil, err
	}
	return tracker.Images(p.Now()), nil
}
