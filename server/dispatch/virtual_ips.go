package dispatch

import (
	"context"
	"time"

	"pinion/raftfsm/iplease"
	"pinion/server/rpc"
)

// leaseTimeout bounds the question for one virtual IP. A host asks again before it is over, so that few of them are under way at once.
const leaseTimeout = time.Second

// Leases grants leases of virtual IPs, on the leader.
type Leases interface {
	// Renew takes what a host asks, and answers whether it holds the address.
	Renew(ctx context.Context, hostID string, r iplease.Request) (iplease.Answer, error)
}

// leaseSource is where a host asks for its virtual IPs.
type leaseSource interface {
	AskVirtualIP(ctx context.Context, hostID string, r iplease.Request) (iplease.Answer, error)
}

// leaseRequest is what a host asks, as its server sends it to the leader.
type leaseRequest struct {
	Host    string          `json:"host"`
	Request iplease.Request `json:"request"`
}

// AskVirtualIP has the leader say whether a host holds a virtual IP. What is answered late is of no use, so it waits for no election.
func (b *Backend) AskVirtualIP(ctx context.Context, hostID string, r iplease.Request) (answer iplease.Answer, err error) {
	ctx, done, err := b.server.BeginCall(ctx)
	if err != nil {
		return answer, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	err = b.server.CallLeader(ctx, func() (err error) {
		answer, err = b.leases.Renew(ctx, hostID, r)
		return err
	}, func(ctx context.Context, address string) error {
		return b.client.Call(ctx, address, PathLease, leaseRequest{hostID, r}, &answer)
	})
	return answer, err
}

// LeaseHandler is the leader's side of questions that another server forwards. leader is this host's backend while its server leads.
func LeaseHandler(leader func() (*Backend, error)) rpc.HandlerFunc {
	return rpc.ServerJSON(func(ctx context.Context, _ string, r leaseRequest) (iplease.Answer, error) {
		b, err := leader()
		if err != nil {
			return iplease.Answer{}, err
		}
		return b.leases.Renew(ctx, r.Host, r.Request)
	})
}

// AskVirtualIP is Backend.AskVirtualIP.
func (s *AgentSession) AskVirtualIP(ctx context.Context, _ string, r iplease.Request) (iplease.Answer, error) {
	reply, err := s.call(ctx, agentMessage{VirtualIP: &r})
	return reply.VirtualIP, err
}

// AskVirtualIP is Backend.AskVirtualIP at the endpoint in use.
func (u *Upstream) AskVirtualIP(ctx context.Context, hostID string, r iplease.Request) (iplease.Answer, error) {
	c := u.current.Load()
	if c == nil {
		return iplease.Answer{}, errDisconnected
	}
	return c.AskVirtualIP(ctx, hostID, r)
}
