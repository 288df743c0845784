package admission

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// PathRemovalStatus tells whether a host was removed. The peer listener refuses a removed host before it can ask anything,
// so it would try for ever and never learn why. The join listener tells anybody, and tells nothing else.
const PathRemovalStatus = "/standing"

// RemovalStatus is the question (HostID) and its answer.
type RemovalStatus struct {
	HostID  string `json:"hostId"`
	Removed bool   `json:"removed"`
}

// CheckRemoved asks the hosts at the addresses in turn, and returns spec.ErrRemoved when one of them says that the host was
// removed from the pool.
func CheckRemoved(ctx context.Context, identity *pki.Identity, hostID string, addresses []string, now func() time.Time) error {
	fingerprint, err := hex.DecodeString(identity.Fingerprint())
	if err != nil {
		return err
	}
	client := peer.JoinClient(fingerprint, now)
	defer client.CloseIdleConnections()
	pool := &rpc.Client{HTTP: client}
	for _, address := range addresses {
		status := RemovalStatus{HostID: hostID}
		if err := pool.Call(ctx, address, PathRemovalStatus, status, &status); err == nil && status.Removed {
			return fmt.Errorf("host %s: %w", hostID, spec.ErrRemoved)
		}
	}
	return nil
}
