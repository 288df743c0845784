package api

import (
	"encoding/hex"
	"sync"
	"time"

	"pinion/api/sigv4"
	"pinion/api/wire"
)

const (
	// replayTTL is how long a signature can be sent again before its date alone refuses it: it may be dated from Skew ago
	// to Skew ahead.
	replayTTL = 2 * sigv4.Skew
	// replayMax bounds what is remembered. Beyond it the oldest is forgotten sooner: about 10 MB.
	replayMax = 1 << 18
)

// replayCache remembers which ones have changed something, so that whoever has seen a request cannot repeat it. It is the
// leader's memory alone: a new leader begins with none. Its zero value is ready, and it is safe for concurrent use.
//
// A signature that failed may come again, since SDKs repeat a request within a second as it is.
type replayCache struct {
	mu                sync.Mutex
	current, previous map[signature]struct{} // two halves: the older one is dropped whole
	since             time.Time              // when now began
	maxPerGeneration  int                    // rememberMost/2 when 0
}

type signature [32]byte

// begin claims a signature for a change that is about to be made; false when it is claimed already. end must be called
// with what became of it.
func (s *replayCache) begin(text string, at time.Time) (end func(done bool), ok bool) {
	var key signature
	_, _ = hex.Decode(key[:], []byte(text)) // 64 hex digits: they were compared with ones that are
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotate(at)
	if s.has(key) {
		return nil, false
	}
	s.current[key] = struct{}{}
	return func(done bool) {
		if !done {
			s.forget(key)
		}
	}, true
}

func (s *replayCache) has(key signature) bool {
	if _, known := s.current[key]; known {
		return true
	}
	_, known := s.previous[key]
	return known
}

func (s *replayCache) forget(key signature) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.current, key)
	delete(s.previous, key)
}

// rotate starts another half when this one is old enough, or full.
func (s *replayCache) rotate(at time.Time) {
	most := s.maxPerGeneration
	if most == 0 {
		most = replayMax / 2
	}
	if s.current != nil && at.Sub(s.since) < replayTTL && len(s.current) < most {
		return
	}
	s.previous, s.current, s.since = s.current, map[signature]struct{}{}, at
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
	end, ok := d.Limits.replay.begin(who.signature, d.Now())
	if !ok {
		return wire.Errorf(errReplayed, "Nothing was done: a request with this very signature was carried out before, or is being carried out. To have it done once more, sign it anew, a second later; to repeat a request safely, use a client token.")
	}
	done := false
	defer func() { end(done) }() // also when it panics
	err := change()
	done = err == nil
	return err
}
