package api

import (
	"encoding/hex"
	"sync"
	"time"

	"pinion/api/sigv4"
	"pinion/api/wire"
)

const (
	// rememberFor is how long a signature can be sent again before its date alone refuses it: it may be dated from Skew ago
	// to Skew ahead.
	rememberFor = 2 * sigv4.Skew
	// rememberMost bounds what is remembered. Beyond it the oldest is forgotten sooner: about 10 MB.
	rememberMost = 1 << 18
)

// signatures remembers which ones have changed something, so that whoever has seen a request cannot repeat it. It is the
// leader's memory alone: a new leader begins with none. Its zero value is ready, and it is safe for concurrent use.
//
// A signature that failed may come again, since SDKs repeat a request within a second as it is.
type signatures struct {
	mu            sync.Mutex
	now, before   map[signature]struct{} // two halves: the older one is dropped whole
	since         time.Time              // when now began
	mostOfOneHalf int                    // rememberMost/2 when 0
}

type signature [32]byte

// begin claims a signature for a change that is about to be made; false when it is claimed already. end must be called
// with what became of it.
func (s *signatures) begin(text string, at time.Time) (end func(done bool), ok bool) {
	var key signature
	_, _ = hex.Decode(key[:], []byte(text)) // 64 hex digits: they were compared with ones that are
	s.mu.Lock()
	defer s.mu.Unlock()
	s.age(at)
	if s.has(key) {
		return nil, false
	}
	s.now[key] = struct{}{}
	return func(done bool) {
		if !done {
			s.forget(key)
		}
	}, true
}

func (s *signatures) has(key signature) bool {
	if _, known := s.now[key]; known {
		return true
	}
	_, known := s.before[key]
	return known
}

func (s *signatures) forget(key signature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, key)
	delete(s.before, key)
}

// age starts another half when this one is old enough, or full.
func (s *signatures) age(at time.Time) {
	most := s.mostOfOneHalf
	if most == 0 {
		most = rememberMost / 2
	}
	if s.now != nil && at.Sub(s.since) < rememberFor && len(s.now) < most {
		return
	}
	s.before, s.now, s.since = s.now, map[signature]struct{}{}, at
}

// once makes a change, but for a signature that has made one before. A request without a signature (the socket, a bearer
// key) passes, and so does one with a client token: repeating that is what the token is for.
//
// boto3 gives two equal calls in one second the same signature. So the refusal is of a type that SDKs answer by signing
// anew after a pause: a call that was meant goes through then, and a copied one never does.
func (d *door) once(who caller, token string, change func() error) error {
	if who.signature == "" || token != "" {
		return change()
	}
	end, ok := d.Guard.used.begin(who.signature, d.Now())
	if !ok {
		return wire.Errorf(signAgain, "Nothing was done: a request with this very signature was carried out before, or is being carried out. To have it done once more, sign it anew, a second later; to repeat a request safely, use a client token.")
	}
	done := false
	defer func() { end(done) }() // also when it panics
	err := change()
	done = err == nil
	return err
}
