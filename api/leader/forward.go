package leader

import (
	"context"
	"errors"
	"net"
	"net/http"

	"pinion/api/httpx"
	"pinion/api/wire"
)

// forward has the leader answer the request.
func (r *Router) forward(x *httpx.Exchange, address string, writes bool) outcome {
	response, end, again, err := r.ask(x, address, "", writes)
	if err != nil {
		end()
		return outcome{err: err, again: again}
	}
	return r.pass(x, response, end)
}

// pass hands the leader's response on to the client.
func (r *Router) pass(x *httpx.Exchange, response *http.Response, end context.CancelFunc) outcome {
	return outcome{reply: func() {
		defer end()
		r.Peers.Copy(x, response, end)
	}}
}

// ask sends the leader the request as it came: method, path, query, host, headers and body, so that the signature in it
// means there what it means here. version names the state that this host could answer from by itself; empty when it could
// not. end must be called in any case. again, with an error, says that nothing was done.
func (r *Router) ask(x *httpx.Exchange, address, version string, writes bool) (response *http.Response, end context.CancelFunc, again bool, err error) {
	if r.Peers.Transport == nil {
		return nil, func() {}, false, wire.Errorf(wire.Server, "This host does not lead the pool, and has no way to the leader at %s.", address)
	}
	header := httpx.ForwardHeader(x.Request)
	header.Set(httpx.HeaderForwarded, r.Peers.HostID)
	header.Set(httpx.HeaderClient, x.ClientAddress())
	if r.Auth.Trusted {
		header.Set(httpx.HeaderSocket, "true")
	}
	if version != "" {
		header.Set(httpx.HeaderStateVersion, version)
	}
	if x.Upload {
		response, end, err = r.Peers.Upload(x.Request, address, header)
	} else {
		response, end, err = r.Peers.RoundTrip(x.Request, address, header, x.Body)
	}
	switch {
	case err == nil && response.Header.Get(httpx.HeaderNotLeader) != "":
		response.Body.Close()
		return nil, end, true, wire.Errorf(wire.Server, "The pool has no leader that answers now: %s, which led it a moment ago, does not any more. Nothing was done; try again.", address)
	case err == nil:
		return response, end, false, nil
	case notSent(err) || !writes:
		return nil, end, true, wire.Errorf(wire.Server, "The leader of the pool at %s cannot be reached: %v. Nothing was done; try again.", address, err)
	}
	return nil, end, false, wire.Errorf(wire.Server, "The leader of the pool at %s was asked and gave no answer: %v. It may have been done or not: look before you repeat it, or repeat it with the same client token.", address, err)
}

// notSent reports whether an error says that the other host has seen nothing of the request.
func notSent(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}
