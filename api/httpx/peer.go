package httpx

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"pinion/api/wire"
)

// Headers by which the hosts of a pool pass requests to one another. Only PeerHeaders reads them, on the listener that demands a
// host's certificate, and no request keeps them: what they say is in its Origin.
const (
	HeaderForwarded    = "X-Pinion-Forwarded"     // id of the host that forwards the request to the leader
	HeaderAuthorizedBy = "X-Pinion-Authorized-By" // id of the server that has authorized the request for the host of a task
	HeaderOwner        = "X-Pinion-Holder"        // whose request it is that a server has authorized: whom the slots there count for
	HeaderSocket       = "X-Pinion-Socket"        // "true": it came through the root-only socket of the host that forwards it
	HeaderClient       = "X-Pinion-Client"        // address of the client whose request that host forwards or has authorized, for the audit log and limits
	HeaderStateVersion = "X-Pinion-State-Version" // the state from which that host could answer by itself
)

// Headers of a response to another host.
const (
	// HeaderNotLeader marks a response that says only this: nothing was done, because this host does not lead the pool.
	HeaderNotLeader = "X-Pinion-Not-Leader"
	// HeaderStateMatch marks a response that says only this: the leader has the state of HeaderStateVersion too, and which
	// hosts are unreachable.
	HeaderStateMatch = "X-Pinion-State-Match"
)

// PeerPrefix precedes the paths of the API between hosts.
const PeerPrefix = "/api"

// Peer is the host of the pool at the other end of a connection, as its certificate says; the zero value is a client.
type Peer struct {
	HostID string
	Server bool // it is one of the pool's servers, whose root may do everything
}

// Origin is where a request came from. That of a client is the zero value: PeerHeaders alone makes another, for a Peer.
type Origin struct {
	Peer         Peer
	Forwarded    bool   // Peer forwards it; it is not forwarded again
	Socket       bool   // it came through the root-only socket of Peer
	Authorized   bool   // Peer, a server, has authorized it for this host, on which the task is
	Client       string // address of the client whose request Peer forwards or has authorized, by its word
	Owner        string // whose request Peer has authorized, a word that tells owners apart; empty: it does not say
	StateVersion string // the state from which Peer could answer by itself
}

// OriginOf is the origin of a request; that of a client when it did not pass through AccessLog.
func OriginOf(r *http.Request) Origin {
	if x := InContext(r.Context()); x != nil {
		return x.Origin
	}
	return Origin{}
}

// PeerHeaders decides what is believed about the origin of a request, before anything reads it. peer is the host that sent a
// request on the listener that demands a host's certificate; it is nil on every other one. PeerPrefix is taken off the path.
func PeerHeaders(peer func(*http.Request) Peer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header
		said := Origin{
			Forwarded: header.Get(HeaderForwarded) != "", Socket: header.Get(HeaderSocket) != "", Authorized: header.Get(HeaderAuthorizedBy) != "",
			Client: clientAddress(header.Get(HeaderClient)), Owner: header.Get(HeaderOwner), StateVersion: header.Get(HeaderStateVersion),
		}
		for _, name := range []string{HeaderForwarded, HeaderAuthorizedBy, HeaderOwner, HeaderSocket, HeaderClient, HeaderStateVersion} {
			header.Del(name)
		}
		if peer == nil {
			next.ServeHTTP(w, r)
			return
		}
		x := FromRequest(r)
		said.Peer = peer(r)
		if said.Authorized && !said.Peer.Server {
			x.Request, x.Format = r, JSON
			x.Refuse(wire.Errorf(wire.AccessDenied, "Host %s may not have other hosts answer: only a server of the pool authorizes requests, and this host knows it as none. A host that became one a moment ago may try again.", said.Peer.HostID))
			return
		}
		if !said.Authorized {
			said.Owner = ""
		}
		x.Origin = said
		if strings.HasPrefix(r.URL.Path, PeerPrefix+"/") {
			stripped := *r
			stripped.URL = withoutPrefix(r.URL)
			r = &stripped
		}
		next.ServeHTTP(w, r)
	})
}

// clientAddress is the address of a client by the word of another host; empty for what is none. It is written to the audit log for each
// request, so a text of any other form could fill that.
func clientAddress(said string) string {
	if at, err := netip.ParseAddrPort(said); said != socketAddress && (err != nil || len(said) > maxClientAddress || at.Addr().Zone() != "") {
		return ""
	}
	return said
}

const (
	// socketAddress stands for the address of a client of the root-only socket.
	socketAddress = "socket"
	// maxClientAddress is the length of an IPv6 address with a port.
	maxClientAddress = 64
)

func withoutPrefix(u *url.URL) *url.URL {
	stripped := *u
	stripped.Path, stripped.RawPath = strings.TrimPrefix(u.Path, PeerPrefix), strings.TrimPrefix(u.RawPath, PeerPrefix)
	return &stripped
}
