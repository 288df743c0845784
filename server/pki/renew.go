package pki

import (
	"context"
	"crypto/x509"
	"math/big"
	"slices"
	"time"
)

// renewCheckInterval is how often KeepRenewed looks. A wall clock may jump, so it does not wait for the day itself.
const renewCheckInterval = 10 * time.Minute

// KeepRenewed renews this host's certificate between 50 and 80 % of its life, and when its names changed, until ctx is
// cancelled. ask has a server sign a request; it is not called on a host that holds the authority. What fails is
// logged and tried again.
func (id *Identity) KeepRenewed(ctx context.Context, ask func(ctx context.Context, csr []byte) (cert []byte, err error)) {
	ticks := time.NewTicker(renewCheckInterval)
	defer ticks.Stop()
	for ctx.Err() == nil {
		changed, again := id.Roots().Changed(), (<-chan time.Time)(nil)
		if id.needsRenewal() {
			if err := renewVia(ctx, id, ask); err != nil && ctx.Err() == nil {
				id.log.Warn("cannot renew the certificate of this host", "expires", id.Expires(), "error", err)
				if id.Roots().Issuer() != id.Fingerprint() {
					again = time.After(rootRetryInterval)
				}
			}
		}
		select {
		case <-ticks.C:
		case <-again:
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// rootRetryInterval is how often a host asks again for a certificate of a root that has taken the place of another.
const rootRetryInterval = 2 * time.Second

func renewVia(ctx context.Context, id *Identity, ask func(context.Context, []byte) ([]byte, error)) error {
	if _, held := id.CA(); held {
		_, err := id.Certificate()
		return err
	}
	csr, err := id.NewRequest()
	if err != nil {
		return err
	}
	cert, err := ask(ctx, csr)
	if err != nil {
		return err
	}
	if err := id.Install(cert, nil); err != nil {
		return err
	}
	id.log.Info("the certificate of this host was renewed", "expires", id.Expires())
	if missing := acceptNames(id); len(missing) > 0 {
		id.log.Warn("the pool does not certify names that this host has now and did not have when it joined: clients that reach it by them do not trust it; "+
			"to register them, have the host leave and join again", "names", missing)
	}
	return nil
}

// acceptNames takes the names of the certificate for those that this host has, so that it does not ask for the others again and
// again, and returns the others.
func acceptNames(id *Identity) (missing []string) {
	id.mu.Lock()
	defer id.mu.Unlock()
	given := NamesOf(id.hostCert.cert)
	for _, name := range id.names {
		if !slices.Contains(given, name) {
			missing = append(missing, name)
		}
	}
	id.names = given
	return missing
}

// needsRenewal reports whether there is a certificate and a reason to replace it.
func (id *Identity) needsRenewal() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.hostCert.cert != nil && !id.isCurrent()
}

// renewAt lies between 50 and 80 % of the certificate's life, for each one at another point, so that the hosts of a
// pool do not all renew at once.
func renewAt(cert *x509.Certificate) time.Time {
	life := cert.NotAfter.Sub(cert.NotBefore)
	spread := time.Duration(new(big.Int).Mod(cert.SerialNumber, big.NewInt(1000)).Int64())
	return cert.NotBefore.Add(life/2 + life*3/10*spread/1000)
}

// isCurrent reports whether the certificate can go on to be shown as it is.
func (id *Identity) isCurrent() bool {
	return id.isValid() && isIssuedBy(id.hostCert.cert, id.roots.newest) && id.now().Before(renewAt(id.hostCert.cert)) && slices.Equal(id.names, NamesOf(id.hostCert.cert))
}

// isValid reports whether others believe the certificate now: a root signed it that is trusted still, and it has not expired.
func (id *Identity) isValid() bool {
	now := id.now()
	return id.roots.issuerOf(id.hostCert.cert) != nil && !now.Before(id.hostCert.cert.NotBefore) && !now.After(id.hostCert.cert.NotAfter)
}
