package admission

import (
	"log/slog"

	"pinion/raftfsm/spec"
)

// Removals tells hosts without a certificate which were removed; a server signs that.
type Removals struct {
	IsMember  func(hostID string) bool   // whether a host still belongs to the pool
	Authority func() (*Authority, error) // of the server here
	Roots     func() spec.CARoots        // of the pool's CA, as this host knows them
	Log       *slog.Logger
}

// Status tells whether a host was removed.
func (r Removals) Status(hostID string) RemovalStatus {
	status := RemovalStatus{HostID: hostID, Removed: !r.IsMember(hostID)}
	authority, err := r.Authority()
	if err != nil || !status.Removed {
		return status
	}
	signature, err := authority.SignText(RemovalText(hostID))
	if err != nil {
		r.Log.Debug("the removal of a host cannot be signed here", "hostId", hostID, "error", err)
	}
	status.Signature, status.CA = signature, r.Roots()
	return status
}
