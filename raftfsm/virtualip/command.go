package virtualip

import (
	"fmt"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// BecomeAssigner makes a leader the only assigner of virtual IPs. Its token fences off earlier leaders: their Assign commands are refused from then on,
// however late they arrive. Answer: nil.
type BecomeAssigner struct{ Token string } // of this term, as no other is

// Apply carries the command out.
func (c BecomeAssigner) Apply(tx command.Transaction) (any, error) {
	tx.Put(&Assigner{Token: c.Token})
	return nil, nil
}

// Assign says which host holds a virtual IP from now on. Epoch is the one after the address's. spec.ErrInUse when it was assigned meanwhile, or
// another leader assigns. ErrTooMany. Answer: *Address.
type Assign struct {
	IP     string
	Holder string // empty: none
	Epoch  int64
	At     time.Time
	Token  string // of the Lead before
}

// ErrTooMany refuses virtual IPs beyond Max.
var ErrTooMany = fmt.Errorf("a pool can have %d virtual IPs: start hosts without the --virtual-ip of some, which are forgotten an hour later", Max)

// Apply carries the command out.
func (c Assign) Apply(tx command.Transaction) (any, error) {
	epoch := int64(0)
	if known := Find(tx, c.IP); known != nil {
		epoch = known.Epoch
	} else if len(All(tx)) >= Max {
		return nil, fmt.Errorf("virtual IP %s: %w", c.IP, ErrTooMany)
	}
	if leads := assigner(tx); leads == nil || leads.Token != c.Token {
		return nil, fmt.Errorf("virtual IP %s: %w: another leader assigns", c.IP, spec.ErrInUse)
	}
	if c.Epoch != epoch+1 {
		return nil, fmt.Errorf("virtual IP %s: %w: it was assigned meanwhile, under epoch %d", c.IP, spec.ErrInUse, epoch)
	}
	assigned := &Address{IP: c.IP, Holder: c.Holder, Epoch: c.Epoch, At: c.At}
	tx.Put(assigned)
	return assigned, nil
}
