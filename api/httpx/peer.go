package httpx

import (
	"net/http"
	"net/url"
	"strings"
)

// Headers by which the hosts of a pool pass requests to one another. They are believed only from the listener that demands
// a host's certificate; PeerHeaders removes them from every other request.
const (
	HeaderForwarded    = "X-Pinion-Forwarded"     // id of the host that forwards the request to the leader
	HeaderAuthorizedBy = "X-Pinion-Authorized-By" // id of the leader, which has authorized the request for the host of a task
	HeaderTrusted      = "X-Pinion-Trusted"       // "true": it came through the root-only socket of that host
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

// PeerHeaders decides what is believed about the origin of a request, before anything reads it: fromPeer says that the
// listener demands a host's certificate. Elsewhere the headers are removed. On it PeerPrefix is taken off the path.
func PeerHeaders(fromPeer bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !fromPeer:
			for _, name := range []string{HeaderForwarded, HeaderAuthorizedBy, HeaderTrusted, HeaderStateVersion} {
				r.Header.Del(name)
			}
		case strings.HasPrefix(r.URL.Path, PeerPrefix+"/"):
			stripped := *r
			stripped.URL = withoutPrefix(r.URL)
			r = &stripped
		}
		next.ServeHTTP(w, r)
	})
}

func withoutPrefix(u *url.URL) *url.URL {
	stripped := *u
	stripped.Path, stripped.RawPath = strings.TrimPrefix(u.Path, PeerPrefix), strings.TrimPrefix(u.RawPath, PeerPrefix)
	return &stripped
}
