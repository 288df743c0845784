package admission

import (
	"bytes"
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
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

const (
	// acmeSealID is what an item is sealed together with, before its key.
	acmeSealID = "ACME "
	// orderTimeout is for how long one host alone orders a certificate: other hosts that miss it are told to wait.
	orderTimeout = 2 * time.Minute
	// turnGrace is how long the next of them has to come before the one after it may.
	turnGrace = 5 * time.Second
	// renewalGrace is that for a certificate that is there: autocert tries to renew one again after an hour at most.
	renewalGrace = 65 * time.Minute
	// longestOrder is for how long autocert waits for a certificate: a host may put it when others have their turns already.
	longestOrder = 10 * time.Minute
)

// ErrNoItem is Get's error for a key without an item: the host that gets it may order a certificate.
var ErrNoItem = fmt.Errorf("%w: no host has put it", spec.ErrNotFound)

// ACMECache keeps what hosts share to get certificates by ACME, sealed in the pool's state. On a server that does not lead its methods fail with
// an error that wraps spec.ErrUnavailable.
//
// Root of a host can put a certificate of a CA of its own, in its turn, for a name that has none or one that is due. Nothing else that it puts is kept: the
// account is the leader's, and what another host has put stays until hosts renew it.
type ACMECache struct {
	Keys *AccessKeys

	mu     sync.Mutex
	orders map[string]*order // by name

	writes sync.Mutex // is held from reading an item to replacing it
}

// order is a host's turn to order a certificate.
type order struct {
	hostID string
	until  time.Time
	queue  []string             // hosts that have asked meanwhile, whose turns come next
	begun  map[string]time.Time // when each host had its last turn
}

// Get is the value of a key. The leader makes the key of the account when there is none. ErrNoItem; spec.ErrUnavailable while another host orders the
// certificate; any other error for a key that is of no listener's certificate.
func (c *ACMECache) Get(ctx context.Context, hostID, key string) (value []byte, err error) {
	view, err := c.view(ctx, key)
	if err != nil {
		return nil, err
	}
	value, err = c.open(ctx, view, key)
	switch name, isAnswer := strings.CutSuffix(key, acme.AnswerSuffix); {
	case err != nil:
		return nil, err
	case key == acme.AccountKey:
		if isACMEAccount(value) {
			return value, nil
		}
		return c.makeAccount(ctx)
	case isAnswer:
		if value == nil {
			return nil, ErrNoItem
		}
		return value, nil
	default:
		if _, err := checkACMECertificate(value, name, false, c.Keys.Server.Now()); err == nil {
			return value, nil
		}
		if other := c.begin(hostID, name, turnGrace); other != "" {
			return nil, spec.Unavailable(fmt.Sprintf("host %s gets the certificate %s: try again in a moment", other, key))
		}
		return nil, ErrNoItem
	}
}

// view is the state, for a key that hosts may use.
func (c *ACMECache) view(ctx context.Context, key string) (*raftfsm.View, error) {
	view, err := c.Keys.Server.View(ctx)
	if err == nil {
		err = checkACMEKey(view, key)
	}
	return view, err
}

// open is the value of a key; nil when there is none.
func (c *ACMECache) open(ctx context.Context, view *raftfsm.View, key string) ([]byte, error) {
	item := acme.Find(view, key)
	if item == nil {
		return nil, nil
	}
	c.Keys.FetchKeyring(ctx)
	text, err := c.Keys.Keyring.Open(acmeSealID+key, item.Sealed, item.Seal)
	return []byte(text), err
}

// makeAccount makes the key of the account, unless it has been made since.
func (c *ACMECache) makeAccount(ctx context.Context) ([]byte, error) {
	c.writes.Lock()
	defer c.writes.Unlock()
	view, err := c.view(ctx, acme.AccountKey)
	if err != nil {
		return nil, err
	}
	value, err := c.open(ctx, view, acme.AccountKey)
	if err != nil || isACMEAccount(value) {
		return value, err
	}
	if value, err = newACMEAccount(); err == nil {
		err = c.record(ctx, view, acme.AccountKey, value)
	}
	return value, err
}

// begin gives a host the turn to order a certificate, or returns the host that has it. A turn is as long however often its host asks, and the others that
// have asked have theirs before it has another: no host keeps a certificate from the pool by ordering none. Each of them has the grace to ask again.
func (c *ACMECache) begin(hostID, name string, grace time.Duration) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.orders == nil {
		c.orders = map[string]*order{}
	}
	o, now := c.orders[name], c.Keys.Server.Now()
	if o == nil {
		o = &order{begun: map[string]time.Time{}}
		c.orders[name] = o
	}
	if o.hostID == hostID && now.Before(o.until) {
		return ""
	}
	turn := slices.Index(o.queue, hostID)
	if turn < 0 {
		turn = len(o.queue)
		o.queue = append(o.queue, hostID)
	}
	if now.Before(o.until.Add(time.Duration(turn) * grace)) {
		return o.hostID
	}
	o.hostID, o.until, o.queue = hostID, now.Add(orderTimeout), slices.Delete(o.queue, 0, turn+1)
	o.begun[hostID] = now
	return ""
}

// hasBegun reports whether a host has had its turn for a certificate so lately that the CA may give it only now.
func (c *ACMECache) hasBegun(hostID, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.orders[name]
	return o != nil && !o.begun[hostID].IsZero() && c.Keys.Server.Now().Before(o.begun[hostID].Add(longestOrder))
}

// hadTurn reports whether nobody else has had the turn for a certificate since the host had it.
func (c *ACMECache) hadTurn(hostID, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.orders[name]
	return o != nil && o.hostID == hostID
}

// Put records the value of a key; the same value again changes nothing. An answer to a challenge is put by the host whose turn it is to order the
// certificate, a certificate by one that has had its turn, in the place of none or of one that is due. spec.ErrLimit; other errors say what is wrong
// with the value, or with its key.
func (c *ACMECache) Put(ctx context.Context, hostID, key string, value []byte) error {
	if len(value) > acme.MaxSize {
		return fmt.Errorf("%.300s: %w: a certificate with its key may have %d bytes, not %d", key, spec.ErrLimit, acme.MaxSize, len(value))
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	view, err := c.view(ctx, key)
	if err != nil {
		return err
	}
	known, err := c.open(ctx, view, key)
	if err != nil || known != nil && bytes.Equal(known, value) {
		return err
	}
	current := known
	if name, isAnswer := strings.CutSuffix(key, acme.AnswerSuffix); isAnswer {
		if current, err = c.open(ctx, view, name); err != nil {
			return err
		}
	}
	if err := c.checkPut(hostID, key, current, value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return c.record(ctx, view, key, value)
}

// checkPut refuses what a host may not put. current is the certificate that there is for the name, nil for none.
func (c *ACMECache) checkPut(hostID, key string, current, value []byte) error {
	if key == acme.AccountKey {
		return fmt.Errorf("%w: the leader makes the key of the account; an administrator drops it with `pinion certificate rm account`", errACMEValue)
	}
	name, isAnswer := strings.CutSuffix(key, acme.AnswerSuffix)
	now := c.Keys.Server.Now()
	if _, err := checkACMECertificate(value, name, isAnswer, now); err != nil {
		return err
	}
	grace := turnGrace
	if before, err := checkACMECertificate(current, name, false, now); err == nil {
		if grace = renewalGrace; !isAnswer && now.Before(renewalOf(before)) {
			return fmt.Errorf("%w: the pool has a certificate that hosts renew from %s on; an administrator drops it with `pinion certificate rm %s`",
				errACMEValue, renewalOf(before).Format(time.RFC3339), name)
		}
	}
	if isAnswer || !c.hasBegun(hostID, name) {
		if other := c.begin(hostID, name, grace); other != "" {
			return fmt.Errorf("%w: it is the turn of host %s to order the certificate", errACMEValue, other)
		}
	}
	return nil
}

// record seals and records the value of a key.
func (c *ACMECache) record(ctx context.Context, view *raftfsm.View, key string, value []byte) (err error) {
	name := ""
	if sealed := sealing.Find(view); sealed != nil {
		name = sealed.Name
	}
	item := acme.Item{Key: key, PutAt: c.Keys.Server.Now().Round(0)}
	if item.Sealed, item.Seal, err = c.Keys.Keyring.Seal(acmeSealID+key, string(value), name); err != nil {
		return err
	}
	_, err = c.Keys.Server.Propose(ctx, raftfsm.Wrap(acme.Put{Items: []acme.Item{item}}))
	return err
}

// Delete deletes the answer to a challenge, for the host that has put it. Any other value stays: no host has to take a certificate from the others.
func (c *ACMECache) Delete(ctx context.Context, hostID, key string) error {
	_, err := c.view(ctx, key)
	name, isAnswer := strings.CutSuffix(key, acme.AnswerSuffix)
	switch {
	case err != nil:
		return err
	case !isAnswer:
		return fmt.Errorf("%s: %w: hosts delete answers to challenges alone", key, errForeignName)
	case !c.hadTurn(hostID, name):
		return fmt.Errorf("%s: %w: another host has the turn to order the certificate", key, errForeignName)
	}
	_, err = c.Keys.Server.Propose(ctx, raftfsm.Wrap(acme.Delete{Key: key}))
	return err
}

// checkACMEKey refuses keys but that of the account and the two of a name that a listener has a certificate for: the certificate and the answer to a
// challenge.
func checkACMEKey(view *raftfsm.View, key string) error {
	if key == acme.AccountKey {
		return nil
	}
	name := strings.TrimSuffix(key, acme.AnswerSuffix)
	for _, l := range loadbalancer.AllListeners(view) {
		if slices.ContainsFunc(l.Certificates, func(c loadbalancer.Certificate) bool { return c.Name == traffic.ACMEPrefix+name }) {
			return nil
		}
	}
	return fmt.Errorf("%w: no listener has the certificate %s%s", errForeignName, traffic.ACMEPrefix, name)
}

var errForeignName = errors.New("hosts share certificates of listeners alone")
