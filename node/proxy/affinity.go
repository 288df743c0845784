package proxy

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"pinion/raftfsm/rendezvous"
	"pinion/raftfsm/traffic"
)

// preference is a request's preference of a target: a hash that it shares with other requests, or the hash of the target itself. The zero value is none.
type preference struct {
	hash   uint64 // of what requests have in common
	target uint64 // target.hash, from a cookie
}

// Consistent hashing with bounded loads: a target takes requests of its keys until it has boundedLoad times its share of what is in flight. A few
// requests are no load.
const (
	boundedLoad = 1.25
	fewRequests = 4
)

// preferred is the target that prefer asks for, or nil. By rendezvous hashing each key has an order of the targets of its own: a target that comes
// or goes moves only its own keys.
func (g *group) preferred(prefer preference, from []*target) *target {
	if prefer.target != 0 {
		for _, t := range from {
			if t.hash == prefer.target {
				return t
			}
		}
	}
	if prefer.hash == 0 {
		return nil
	}
	bound := max(fewRequests, int(math.Ceil(boundedLoad*float64(g.inFlight+1)/float64(len(from)))))
	var best *target
	var highest uint64
	for _, t := range from {
		if score := rendezvous.Mix(prefer.hash ^ t.hash); t.inFlight < bound && (best == nil || score > highest) {
			best, highest = t, score
		}
	}
	return best
}

// defaultCookie is ELB's.
const defaultCookie = "AWSALB"

// preferenceOf reads the preference of a request; none when it lacks the affinity's key. The beginning of a body that was read for it is put back.
func preferenceOf(a *traffic.Affinity, r *http.Request) (preference, error) {
	if a == nil {
		return preference{}, nil
	}
	switch a.By {
	case traffic.ByHeader:
		return preferHash(r.Header.Get(a.Name)), nil
	case traffic.BySourceIP:
		return preferHash(withoutPort(r.RemoteAddr)), nil
	case traffic.ByCookie:
		return preferTarget(r, cookieName(a)), nil
	case traffic.ByBody:
		prefix, err := readPrefix(r, min(a.Length, traffic.MaxAffinityLength))
		return preferHash(string(prefix)), err
	}
	return preference{}, fmt.Errorf("affinity by %q is not known", a.By)
}

func readPrefix(r *http.Request, length int) ([]byte, error) {
	if r.ContentLength == 0 || length <= 0 {
		return nil, nil
	}
	prefix, err := io.ReadAll(io.LimitReader(r.Body, int64(length))) // which takes memory for what has come, not for what was announced
	if err == io.ErrUnexpectedEOF {
		err = nil
	}
	r.Body = &prefixedBody{Reader: io.MultiReader(bytes.NewReader(prefix), r.Body), Closer: r.Body}
	return prefix, err
}

// prefixedBody is a body of which the beginning was read already.
type prefixedBody struct {
	io.Reader
	io.Closer
}

func cookieName(a *traffic.Affinity) string {
	if a.Name == "" {
		return defaultCookie
	}
	return a.Name
}

func preferTarget(r *http.Request, name string) preference {
	cookie, err := r.Cookie(name)
	if err != nil {
		return preference{}
	}
	hash, _ := strconv.ParseUint(cookie.Value, 16, 64)
	return preference{target: hash}
}

// stickTo tells the client its target.
func stickTo(t *target, a *traffic.Affinity) *http.Cookie {
	return &http.Cookie{Name: cookieName(a), Value: strconv.FormatUint(t.hash, 16), Path: "/", MaxAge: int(a.Duration.Seconds()), HttpOnly: true}
}

func preferHash(key string) preference {
	if key == "" {
		return preference{}
	}
	return preference{hash: rendezvous.Hash(key)}
}
