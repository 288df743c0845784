package server

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/pki"
)

const (
	// rootReportInterval is how often a host says again that it has a certificate of the new root, until that is recorded.
	rootReportInterval = time.Second
	// rejoinTimeout is how long a host of a pool tries a token of a root that it does not know.
	rejoinTimeout = 5 * time.Second
)

// keepRootRecorded says to the leader that this host uses a certificate of the new root, while others wait for that.
func (j hostAdmission) keepRootRecorded(ctx context.Context) {
	recorded := ""
	for {
		changed, again := j.cfg.Identity.Roots().Changed(), (<-chan time.Time)(nil)
		root := j.cfg.Identity.Roots().Issuer()
		if j.cfg.Identity.Roots().List().Overlap.Trusted && root != recorded && root == j.cfg.Identity.Fingerprint() {
			if err := j.recordRoot(ctx, root); err == nil {
				recorded = root
			} else {
				j.log.Debug("cannot tell the leader which root this host's certificate is of", "error", err)
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

func (j hostAdmission) recordRoot(ctx context.Context, root string) error {
	return j.leader.callLeader(ctx, pathRoot, root, &struct{}{}, func(s *Server) error {
		return s.authority.RecordRoot(ctx, j.cfg.HostID, root)
	})
}

// handleRoot records which root the certificate of the calling host is of.
func (a *peerAPI) handleRoot(ctx context.Context, from string, root string) (struct{}, error) {
	own, err := a.server.leading()
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, own.authority.RecordRoot(ctx, from, root)
}

// rejoin admits a host of a pool again that was given a token of a root which it does not know: it was off while the pool's CA was
// rotated, and no host takes its certificate any more. A token that is of no use, as one that was left in the options, is said and ignored.
func (j hostAdmission) rejoin(ctx context.Context) {
	token, err := admission.ParseToken(j.cfg.JoinToken)
	if j.cfg.Join == "" || err != nil || !j.cache.BelongsToPool() || knowsRoot(j.cfg.Identity.Roots().List(), token.Fingerprint) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rejoinTimeout)
	defer cancel()
	if err := j.join(ctx); err != nil {
		j.log.Warn("this host belongs to a pool, and cannot join it again with the token that it was given", "error", err)
	}
}

// knowsRoot reports whether a fingerprint, of which some bytes are given, is of one of the roots.
func knowsRoot(roots spec.CARoots, fingerprint []byte) bool {
	is := func(root []byte) bool {
		return strings.HasPrefix(pki.FingerprintOf(root), hex.EncodeToString(fingerprint))
	}
	return is(roots.Newest) || is(roots.Overlap.Previous)
}

// rootOf names the root that signs for the pool of a host.
func rootOf(server *localServer, identity *pki.Identity) string {
	if view := server.view(); view != nil && view.CA() != nil {
		return pki.FingerprintOf(view.CA().Certificate)
	}
	return identity.Fingerprint()
}

// RotateCA is admission.Authority.RotateCA, where this host leads.
func (k Keys) RotateCA(ctx context.Context, force bool) error {
	own, err := k.server.leading()
	if err != nil {
		return err
	}
	return own.authority.RotateCA(ctx, force)
}
