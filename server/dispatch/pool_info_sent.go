package dispatch

import "pinion/raftfsm/spec"

// poolInfoSent is the last update of a session. The zero value is ready.
type poolInfoSent struct {
	info   *spec.PoolInfo
	server bool
}

// next is the update from what was sent to what there is, nil when nothing has changed. It compares a pointer on each
// heartbeat, and sends the list of removed hosts, which is the long part, only when that has changed.
func (p *poolInfoSent) next(info *spec.PoolInfo, server bool) *PoolInfoUpdate {
	if p.info == info && p.server == server {
		return nil
	}
	update := &PoolInfoUpdate{PoolInfo: *info, Server: server}
	if p.info != nil && sameSlice(p.info.Removed, info.Removed) {
		update.SameRemoved, update.PoolInfo.Removed = true, nil
	}
	p.info, p.server = info, server
	return update
}

// sameSlice reports whether two slices are one.
func sameSlice(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
