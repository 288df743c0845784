package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

const (
	// acmeSealID is what an entry is sealed together with, before its key.
	acmeSealID = "ACME "
	// acmeAccountKey is where autocert keeps the key of the account.
	acmeAccountKey = "acme_account+key"
	// acmeToken is the end of the key of an answer to a challenge.
	acmeToken = "+token"
	// orderTimeout is for how long one host alone orders a certificate: other hosts that miss it are told to wait.
	orderTimeout = 2 * time.Minute
	// turnGrace is how long the next of them has to come before the one after it may.
	turnGrace = 5 * time.Second
)

// ErrNoEntry is Get's error for a key without an entry: the host that gets it may order a certificate.
var ErrNoEntry = fmt.Errorf("%w: no host has put it", spec.ErrNotFound)

// ACMECache keeps what hosts share to get certificates by ACME, sealed in the pool's state. On a server that does not lead its methods fail with
// an error that wraps spec.ErrUnavailable.
type ACMECache struct {
	Keys *AccessKeys

	mu     sync.Mutex
	orders map[string]*order // by key
}

// order is a host's turn to order a certificate.
type order struct {
	hostID string
	until  time.Time
	queue  []string // hosts that have asked meanwhile, whose turns come next
}

// Get is the value of a key. ErrNoEntry; spec.ErrUnavailable while another host orders the certificate; any other error for a
// key that is of no listener's certificate.
func (c *ACMECache) Get(ctx context.Context, hostID, key string) (value []byte, err error) {
	view, err := c.Keys.Server.View(ctx)
	if err == nil {
		err = checkACMEKey(view, key)
	}
	if err != nil {
		return nil, err
	}
	if entry := acme.Find(view, key); entry != nil {
		c.Keys.FetchKeyring(ctx)
		text, err := c.Keys.Keyring.Open(acmeSealID+key, entry.Sealed, entry.Seal)
		return []byte(text), err
	}
	if ordersCertificate(key) {
		if other := c.begin(hostID, key); other != "" {
			return nil, spec.Unavailable(fmt.Sprintf("host %s gets the certificate %s: try again in a moment", other, key))
		}
	}
	return nil, ErrNoEntry
}

// ordersCertificate reports whether a host that misses the key orders a certificate.
func ordersCertificate(key string) bool {
	return key != acmeAccountKey && !strings.HasSuffix(key, acmeToken)
}

// begin gives a host the turn to order a certificate, or returns the host that has it. A turn is as long however often its host asks, and the others that
// have asked have theirs before it has another: no host keeps a certificate from the pool by ordering none.
func (c *ACMECache) begin(hostID, key string) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orders == nil {
		c.orders = map[string]*order{}
	}
	o, now := c.orders[key], c.Keys.Server.Now()
	if o == nil {
		o = &order{}
		c.orders[key] = o
	}
	if o.hostID == hostID && now.Before(o.until) {
		return ""
	}
	place := slices.Index(o.queue, hostID)
	if place < 0 {
		place = len(o.queue)
		o.queue = append(o.queue, hostID)
	}
	if now.Before(o.until.Add(time.Duration(place) * turnGrace)) {
		return o.hostID
	}
	o.hostID, o.until, o.queue = hostID, now.Add(orderTimeout), slices.Delete(o.queue, 0, place+1)
	return ""
}

// Put records the value of a key. spec.ErrLimit; any other error for a key that is of no listener's certificate.
func (c *ACMECache) Put(ctx context.Context, key string, value []byte) error {
	view, err := c.Keys.Server.View(ctx)
	if err == nil {
		err = checkACMEKey(view, key)
	}
	if err != nil {
		return err
	}
	if len(value) > acme.MaxSize {
		return fmt.Errorf("%s: %w: a certificate with its key may have %d bytes, not %d", key, spec.ErrLimit, acme.MaxSize, len(value))
	}
	name := ""
	if sealing := view.SealingKey(); sealing != nil {
		name = sealing.Name
	}
	entry := acme.Entry{Key: key, PutAt: c.Keys.Server.Now().Round(0)}
	if entry.Sealed, entry.Seal, err = c.Keys.Keyring.Seal(acmeSealID+key, string(value), name); err != nil {
		return err
	}
	_, err = c.Keys.Server.Propose(ctx, raftfsm.Wrap(acme.Put{Entries: []acme.Entry{entry}}))
	return err
}

// Delete deletes the answer to a challenge. Any other value stays: no host has to take a certificate from the others.
func (c *ACMECache) Delete(ctx context.Context, key string) error {
	view, err := c.Keys.Server.View(ctx)
	if err == nil {
		err = checkACMEKey(view, key)
	}
	if err == nil && !strings.HasSuffix(key, acmeToken) {
		err = fmt.Errorf("%s: %w: hosts delete answers to challenges alone", key, errForeignName)
	}
	if err == nil {
		_, err = c.Keys.Server.Propose(ctx, raftfsm.Wrap(acme.Delete{Key: key}))
	}
	return err
}

// checkACMEKey refuses keys but that of the account and the two of a name that a listener has a certificate for: the certificate and the answer to a
// challenge.
func checkACMEKey(view *raftfsm.View, key string) error {
	if key == acmeAccountKey {
		return nil
	}
	name := strings.TrimSuffix(key, acmeToken)
	for _, l := range loadbalancer.AllListeners(view) {
		if slices.ContainsFunc(l.Certificates, func(c loadbalancer.Certificate) bool { return c.Name == traffic.ACMEPrefix+name }) {
			return nil
		}
	}
	return fmt.Errorf("%w: no listener has the certificate %s%s", errForeignName, traffic.ACMEPrefix, name)
}

var errForeignName = errors.New("hosts share certificates of listeners alone")
