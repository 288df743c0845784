package api

import (
	"net/http"
	"net/url"
	"strings"

	"pinion/api/wire"
)

// What one host tells another about a request that it passes on. Nobody else is believed: introduce removes these
// headers from everything that does not come through the listener of the pool's own hosts.
const (
	forwardedHeader    = "X-Pinion-Forwarded" // id of the host that passes the request on to the leader
	authorizedByHeader = "X-Pinion-Delivered" // id of the leader, which has checked the request for the host of a task
	trustedHeader      = "X-Pinion-Trusted"   // "true": it came through the root-only socket there
	stateVersionHeader = "X-Pinion-State"     // the state that the host could answer from by itself; see stateOf
)

// notLeaderHeader marks an answer that says only this: nothing was done, because this host cannot answer for the pool.
const notLeaderHeader = "X-Pinion-Elsewhere"

// stateMatchHeader marks an answer that says only this: the leader has the state of stateHeader too, and which hosts are silent.
const stateMatchHeader = "X-Pinion-Same"

// PeerPrefix is what the paths of the API have in front of them between hosts; the FromPeer handler takes it off
// when that was not done before.
const PeerPrefix = "/api"

// introduce settles what is believed about where a request comes from, before anything looks at it.
func (d *door) introduce(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.FromPeer {
			for _, name := range []string{forwardedHeader, authorizedByHeader, trustedHeader, stateVersionHeader} {
				r.Header.Del(name)
			}
			next.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, PeerPrefix+"/") {
			short := *r
			short.URL = withoutPrefix(r.URL)
			r = &short
		}
		next.ServeHTTP(w, r)
	})
}

func withoutPrefix(u *url.URL) *url.URL {
	short := *u
	short.Path, short.RawPath = strings.TrimPrefix(u.Path, PeerPrefix), strings.TrimPrefix(u.RawPath, PeerPrefix)
	return &short
}

// trusts reports whether the request needs no signature.
func (d *door) trusts(r *http.Request) bool {
	return d.Trusted || r.Header.Get(trustedHeader) == "true"
}

// errSecondHop refuses what another host has passed on already: the first host tries again when it knows the leader.
func errSecondHop(w http.ResponseWriter) error {
	w.Header().Set(notLeaderHeader, "true")
	return wire.Errorf(wire.Server, "Nothing was done: the request was forwarded to this host, which does not lead the pool now. Try again.")
}
