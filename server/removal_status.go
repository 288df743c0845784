package server

import (
	"context"
	"encoding/hex"
	"fmt"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/rpc"
)

// A host that was removed is turned away before it can say a word, so it would try for ever and never learn why. The
// door for joining hosts tells it: there anybody may ask whether a host was removed, and learns nothing else.

const pathRemovalStatus = "/standing"

type removalStatus struct {
	HostID  string `json:"hostId"`
	Removed bool   `json:"removed"`
}

func (m *Member) handleRemovalStatus(_ context.Context, _ string, s removalStatus) (removalStatus, error) {
	return removalStatus{HostID: s.HostID, Removed: !m.isMemberHost(s.HostID)}, nil
}

// fetchRemovalStatus finds out whether no server lets this host in because it was removed.
func (m *Member) fetchRemovalStatus(ctx context.Context) error {
	fingerprint, err := hex.DecodeString(m.cfg.Identity.Fingerprint())
	if err != nil {
		return err
	}
	client := peer.JoinClient(fingerprint, m.cfg.Now)
	defer client.CloseIdleConnections()
	at := &rpc.Client{HTTP: client}
	for _, address := range m.poolCache.peers(m.cfg.Address) {
		answer := removalStatus{HostID: m.cfg.HostID}
		if err := at.Call(ctx, address, pathRemovalStatus, answer, &answer); err == nil && answer.Removed {
			return fmt.Errorf("host %s: %w", m.cfg.HostID, spec.ErrRemoved)
		}
	}
	return nil
}
