package rpc

import (
	"context"
	"errors"
	"net/http"
)

// Forwarder reaches the API of other hosts at https://host:port/api/... It cancels an unanswered request to the leader when the leader
// changes, because the old leader may be partitioned.
type Forwarder struct {
	Leader  *LeaderTracker
	Servers *http.Client // reaches servers alone
	AnyHost *http.Client // reaches any host of the pool
	// ToAgent reports whether what a server sends to this address may go to a host that is no server.
	ToAgent func(address string) bool
}

// RoundTrip sends the request as it is. It may carry the secret of its caller, so none but a server gets it; only servers ask agents,
// for what they have authorized.
func (f *Forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := f.Leader.While(r.Context(), r.URL.Host)
	defer release()
	client := f.Servers
	if f.ToAgent(r.URL.Host) {
		client = f.AnyHost
	}
	answer, err := client.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), ErrLeaderChanged) {
		err = ErrLeaderChanged
	}
	return answer, err
}
