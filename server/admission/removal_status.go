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
const PathRemovalStatus = "/removal-status"

// RemovalStatus is the question (HostID) and its answer. Signature is of the pool's CA: a removed host may know none of the servers
// that are left, and cannot learn of them any more.
type RemovalStatus struct {
	HostID    string `json:"hostId"`
	Removed   bool   `json:"removed"`
	Signature []byte `json:"signature,omitempty"` // over RemovalText, when a server answers that the host was removed

	CA spec.CARoots `json:"ca,omitzero"` // with Signature: a host that was off may not know the root that has signed
}

// RemovalText is what the CA signs of a removed host. It holds for ever: the id of a host is never used again.
func RemovalText(hostID string) []byte {
	return fmt.Appendf(nil, "host %q was removed from the pool", hostID)
}

// PeerClock asks the hosts at the addresses in turn what time it is. It is for a host that cannot believe any certificate because
// its own clock may be wrong: it looks at the authority alone, and what is answered decides nothing.
func PeerClock(ctx context.Context, identity *pki.Identity, addresses []string) (now time.Time, address string, err error) {
	fingerprint, err := hex.DecodeString(identity.Fingerprint())
	if err != nil {
		return time.Time{}, "", err
	}
	client := peer.JoinClientIgnoringExpiry(fingerprint)
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

// CheckRemoved asks the hosts at the addresses in turn, and returns spec.ErrRemoved when one says that the host was removed from the
// pool. Hosts that trusts accepts are believed, others when they show the signature of the CA.
func CheckRemoved(ctx context.Context, identity *pki.Identity, hostID string, addresses []string, now func() time.Time, trusts func(hostID string) error) error {
	signed := func(s RemovalStatus) bool { return pki.VerifyText(identity, RemovalText(hostID), s.Signature, s.CA) }
	for _, asked := range []struct {
		trusts   func(hostID string) error
		believes func(RemovalStatus) bool
	}{{trusts, func(RemovalStatus) bool { return true }}, {nil, signed}} {
		removed, err := isRemoved(ctx, identity, hostID, addresses, now, asked.trusts, asked.believes)
		if err != nil {
			return err
		}
		if removed {
			return spec.Removed(hostID)
		}
	}
	return nil
}

func isRemoved(ctx context.Context, identity *pki.Identity, hostID string, addresses []string, now func() time.Time, trusts func(hostID string) error, believes func(RemovalStatus) bool) (bool, error) {
	fingerprint, err := hex.DecodeString(identity.Fingerprint())
	if err != nil {
		return false, err
	}
	client := peer.JoinClient(fingerprint, now, trusts)
	defer client.CloseIdleConnections()
	pool := rpc.ToAnyHost(client)
	for _, address := range addresses {
		var status RemovalStatus
		if err := pool.Call(ctx, address, PathRemovalStatus, RemovalStatus{HostID: hostID}, &status); err == nil && status.Removed && believes(status) {
			return true, nil
		}
	}
	return false, nil
}
