package admission

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// PathRemovalStatus tells whether a host was removed. The peer listener refuses a removed host before it can ask anything,
// so it would try for ever and never learn why. The join listener tells anybody, and tells nothing else but the time, as every
// HTTP server does.
const PathRemovalStatus = "/standing"

// RemovalStatus is the question (HostID) and its answer.
type RemovalStatus struct {
	HostID  string `json:"hostId"`
	Removed bool   `json:"removed"`
}

// PeerClock asks the hosts at the addresses in turn what time it is. It is for a host that cannot believe any certificate because
// its own clock may be wrong: it looks at the authority alone, and what is answered decides nothing.
func PeerClock(ctx context.Context, identity *pki.Identity, addresses []string) (now time.Time, address string, err error) {
	fingerprint, err := hex.DecodeString(identity.Fingerprint())
	if err != nil {
		return time.Time{}, "", err
	}
	client := peer.TimelessJoinClient(fingerprint)
	defer client.CloseIdleConnections()
	for _, address := range addresses {
		if now, err = dateOf(ctx, client, "https://"+address+PathRemovalStatus); err == nil {
			return now, address, nil
		}
	}
	return time.Time{}, "", fmt.Errorf("no host of the pool told the time: %w", err)
}

// dateOf is the time at which a server answered, by its clock.
func dateOf(ctx context.Context, client *http.Client, url string) (time.Time, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return time.Time{}, err
	}
	reply, err := client.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	reply.Body.Close()
	return http.ParseTime(reply.Header.Get("Date"))
}

// CheckRemoved asks the hosts at the addresses in turn, and returns spec.ErrRemoved when one that trusts accepts says that the host
// was removed from the pool.
func CheckRemoved(ctx context.Context, identity *pki.Identity, hostID string, addresses []string, now func() time.Time, trusts func(hostID string) error) error {
	fingerprint, err := hex.DecodeString(identity.Fingerprint())
	if err != nil {
		return err
	}
	client := peer.JoinClient(fingerprint, now, trusts)
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
