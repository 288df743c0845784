package peer

import (
	"context"
	"errors"
	"io"
	"net"
)

// Operation is what a caller was refused.
type Operation string

// The operations between hosts whose refusals are reported.
const (
	OpConnect  Operation = "ConnectHost"      // a handshake as a host of the pool
	OpCall     Operation = "CallHost"         // that servers alone may make, or by a host that was removed
	OpJoin     Operation = "JoinPool"         // with a join token
	OpRenew    Operation = "RenewCertificate" // of a host of the pool
	OpRegister Operation = "RegisterHost"     // as a host that another process is, or for another cluster than its token's
)

// Refusal is a caller that was turned away.
type Refusal struct {
	Operation Operation
	HostID    string // that the caller says it is, truly or not; empty when it says none
	Address   string // that it called from; empty when another host of the pool passed the call on
	Reason    error
}

// Refusals takes in what was refused. It must not wait. A nil one takes nothing.
type Refusals func(Refusal)

// Report reports a refusal.
func (r Refusals) Report(refusal Refusal) {
	if r != nil {
		r(refusal)
	}
}

// SetRefusals sets who is told of the callers that are refused, by the port and by what listens on it. Before that nobody is.
func (p *Port) SetRefusals(to Refusals) { p.refusals.Store(&to) }

// ReportRefusal passes a refusal on.
func (p *Port) ReportRefusal(refusal Refusal) {
	if to := p.refusals.Load(); to != nil {
		to.Report(refusal)
	}
}

// reportRefused reports a caller that spoke as a host and was turned away for what it showed. A connection that broke, or a
// listener that is not open yet, is no refusal.
func (p *Port) reportRefused(c *conn, err error) {
	if c.protocol != Peer && c.protocol != Raft || errors.Is(err, errNobody) || isBroken(err) {
		return
	}
	p.ReportRefusal(Refusal{Operation: OpConnect, HostID: c.claimed, Address: c.RemoteAddr().String(), Reason: err})
}

// isBroken reports whether an error says that the connection ended, not why it was refused.
func isBroken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed)
}
