package server

import (
	"time"

	"pinion/raftfsm/blob"
)

// PoolImages knows the images of the pool.
type PoolImages struct {
	server *localServer
	now    func() time.Time
}

// Images lists the images that the hosts of the pool have said they have. It is asked on the leader; elsewhere the error wraps
// spec.ErrNotLeader or spec.ErrUnavailable.
func (p PoolImages) Images() ([]blob.HeldImage, error) {
	own, err := p.server.leading()
	if err != nil {
		return nil, err
	}
	return own.tracker.Images(p.now()), nil
}
