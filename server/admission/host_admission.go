package admission

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/liveness"
	"pinion/server/pki"
)

const (
	// peerClockTimeout bounds the question of a host that does not start, what time it is at others.
	peerClockTimeout = 5 * time.Second
	// rejoinTimeout bounds the try of a host of a pool to join by a token of a root that it does not know.
	rejoinTimeout = 5 * time.Second
	// rootReportInterval is the pause after which a host reports again that it has a certificate of the new root, until that is recorded.
	rootReportInterval = time.Second
)

// PoolCache remembers the pool of this host across restarts.
type PoolCache interface {
	PoolInfo() spec.PoolInfo
	BelongsToPool() bool
	// Peers are the addresses of other hosts of the pool than the one at own.
	Peers(own string) []string
	Update(o spec.PoolInfo) (accepted, newer bool, err error)
}

// HostAdmission gets this host into its pool, and keeps it admitted.
type HostAdmission struct {
	Request  Join   // how this host joins; without Address it does not
	Address  string // of this host
	Pool     PoolCache
	IsSigned func(spec.PoolInfo) bool // whether the CA of the pool has signed which hosts are its servers
	Calls    *HostCalls
}

// JoinPool has the pool at the address of the request admit this host, and writes down what the pool gave.
func (j HostAdmission) JoinPool(ctx context.Context) error {
	reply, err := j.Request.Do(ctx)
	if err != nil {
		return err
	}
	return j.saveMembership(reply)
}

// ExplainNoCertificate is the error of a host of a pool whose certificate is not valid now: its clock may be wrong, or it was off for too
// long.
func (j HostAdmission) ExplainNoCertificate(ctx context.Context) error {
	identity := j.Request.Identity
	from, until := identity.Validity()
	if until.IsZero() {
		return pki.ErrNoCertificate
	}
	ctx, cancel := context.WithTimeout(ctx, peerClockTimeout)
	defer cancel()
	now := j.Request.Now()
	theirs, address, err := PeerClock(ctx, identity, j.Pool.Peers(j.Address))
	validity := fmt.Sprintf("the certificate of this host is valid from %s to %s", from.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	offset := now.Sub(theirs)
	switch {
	case err != nil:
		return fmt.Errorf("%s, and the clock of this machine says %s: if that is wrong, set it and start again; if not, %w (%w)", validity, now.UTC().Format(time.RFC3339), pki.ErrNoCertificate, err)
	case theirs.After(from) && theirs.Before(until):
		return fmt.Errorf("the clock of this machine is %s the one of the server at %s: it says %s, there it is %s. Set it, for example with `timedatectl set-ntp true`, and start again: %s",
			liveness.DescribeOffset(offset), address, now.UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339), validity)
	case offset.Abs() >= time.Minute:
		return fmt.Errorf("the clock of this machine is %s the one of the server at %s, and %s: set the clock; then %w", liveness.DescribeOffset(offset), address, validity, pki.ErrNoCertificate)
	}
	return fmt.Errorf("%s: %w", validity, pki.ErrNoCertificate)
}

// saveMembership writes down what the pool gave. The certificate comes first: without servers.json this host joins again.
func (j HostAdmission) saveMembership(r JoinReply) error {
	known := j.Pool.PoolInfo().Pool
	if known != "" && known != r.PoolInfo.Pool {
		return fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", known, r.PoolInfo.Pool)
	}
	roots := r.PoolInfo.CA
	if len(roots.Newest) == 0 {
		roots.Newest = r.CA
	}
	if err := j.Request.Identity.Roots().Join(r.Certificate, roots, known != ""); err != nil {
		return err
	}
	if !j.IsSigned(r.PoolInfo) {
		return fmt.Errorf("the host at %s let this host in and did not prove who the servers of the pool are: it is older than this one, and has to be upgraded first, or join at a server", j.Request.Address)
	}
	accepted, _, err := j.Pool.Update(r.PoolInfo)
	if err == nil && !accepted {
		err = fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", j.Pool.PoolInfo().Pool, r.PoolInfo.Pool)
	}
	if err == nil {
		j.Request.Log.Info("this host belongs to the pool now", "pool", r.PoolInfo.Pool, "servers", r.PoolInfo.Servers)
	}
	return err
}

// RejoinPool admits a host of a pool again that was given a token of a root which it does not know: it was off while the pool's CA was
// rotated, and no host takes its certificate any more. A token that is of no use, as one that was left in the options, is said and ignored.
func (j HostAdmission) RejoinPool(ctx context.Context) {
	token, err := ParseToken(j.Request.Token)
	if j.Request.Address == "" || err != nil || !j.Pool.BelongsToPool() || knowsRoot(j.Request.Identity.Roots().List(), token.Fingerprint) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	if err := j.JoinPool(ctx); err != nil {
		j.Request.Log.Warn("this host belongs to a pool, and cannot join it again with the token that it was given", "error", err)
	}
}

// knowsRoot reports whether a fingerprint, of which some bytes are given, is of one of the roots.
func knowsRoot(roots spec.CARoots, fingerprint []byte) bool {
	is := func(root []byte) bool {
		return strings.HasPrefix(pki.FingerprintOf(root), hex.EncodeToString(fingerprint))
	}
	return is(roots.Newest) || is(roots.Overlap.Previous)
}

// KeepRootRecorded tells the leader that this host uses a certificate of the new root, while others wait for that, until ctx ends.
func (j HostAdmission) KeepRootRecorded(ctx context.Context) {
	recorded, roots := "", j.Request.Identity.Roots()
	for {
		changed, again := roots.Changed(), (<-chan time.Time)(nil)
		root := roots.Issuer()
		if roots.List().Overlap.Trusted && root != recorded && root == j.Request.Identity.Fingerprint() {
			if err := j.Calls.RecordRoot(ctx, root); err == nil {
				recorded = root
			} else {
				j.Request.Log.Debug("cannot tell the leader which root this host's certificate is of", "error", err)
				again = time.After(rootReportInterval)
			}
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}
