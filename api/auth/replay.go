package auth

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"pinion/api/auth/sigv4"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

const (
	// replayTTL is how long a signature can be sent again before its date alone refuses it: it may be dated from Skew ago to
	// Skew ahead.
	replayTTL = 2 * sigv4.Skew
	// replayMax bounds the cache to about 10 MB. Beyond it the oldest half is forgotten.
	replayMax = 1 << 18
	// maxAnswer is the size from which an answer is not kept, and maxAnswers that of all kept answers together. Beyond it all
	// of them are forgotten, and a repeated request is refused.
	maxAnswer  = 256 << 10
	maxAnswers = 16 << 20
)

// ReplayCache remembers the signatures of requests that have changed something, so that a copied request cannot be repeated, and
// the latest answer of each key. It is the leader's memory alone: what earlier leaders have changed stands in the log (Recorded). The
// zero value is ready, and it is safe for concurrent use.
//
// A signature whose request failed may come again, because SDKs repeat a request within a second unchanged.
type ReplayCache struct {
	mu                sync.Mutex
	current, previous map[spec.Signature]struct{} // two generations: the older one is dropped whole
	since             time.Time                   // when the current generation began
	maxPerGeneration  int                         // replayMax/2 when 0
	running           map[spec.Signature]*attempt // claimed, and the outcome is not known
	answers           map[string]keptAnswer       // of each key's latest change, by key
	answerBytes       int                         // of answers
}

// attempt is a change that is being made.
type attempt struct {
	ended  chan struct{} // closed when the outcome is known
	done   bool
	answer *httpx.Answer // of a change that is done; nil when it may not be given again
}

// keptAnswer is the answer of a key's latest change.
type keptAnswer struct {
	signature spec.Signature
	answer    *httpx.Answer
}

// Change is one request that changes something.
type Change struct {
	Principal   Principal
	ClientToken string // with the same one, doing it twice is doing it once: it is Repeatable
	// Repeatable: nobody who asks for it twice at once wants more than who asks for it once. So the second of two equal
	// requests gets the answer of the first. A request to start a task, or for a new secret, is not.
	Repeatable bool
	// Recorded reports whether the pool's log has the signature: an earlier leader has made the change. nil: there was none.
	Recorded func(spec.Signature) bool
	Make     func(spec.Signature) (*httpx.Answer, error) // the signature is zero when it is not remembered
}

// Do makes a change unless the principal's signature has made one before. Then it returns the answer of that one, provided that
// the key has changed nothing else since: boto3 gives two equal calls within one second the same signature, and whoever creates
// a cluster, deletes it and creates it again means to have it. In every other case the refusal is of a type that SDKs answer by
// signing anew after a pause: an intended call goes through then, and a copied one never does.
//
// A client token excuses no signature: it is remembered only as long as what it has made, so a copy could make a service again that was deleted since.
// Who repeats a request in earnest signs it anew, and the token has it done once. A principal without a signature (the socket, a bearer key) passes.
// repeated is nil when the change was made.
func (c *ReplayCache) Do(ctx context.Context, now time.Time, change Change) (repeated *httpx.Answer, err error) {
	change.Repeatable = change.Repeatable || change.ClientToken != ""
	if change.Principal.Signature == "" {
		defer c.supersede(change.Principal.KeyID)
		_, err := change.Make(spec.Signature{})
		return nil, err
	}
	var key spec.Signature
	_, _ = hex.Decode(key[:], []byte(change.Principal.Signature)) // 64 hex digits: it was verified
	for {
		own, other, kept := c.claim(key, change.Principal.KeyID, now)
		switch {
		case own != nil:
			return nil, c.make(key, own, change)
		case !change.Repeatable:
			return nil, errReplayed()
		case kept != nil:
			return kept, nil
		case other == nil:
			return nil, errReplayed()
		}
		select {
		case <-other.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if other.done && other.answer == nil {
			return nil, errReplayed()
		}
		if other.done {
			return other.answer, nil
		}
	}
}

func errReplayed() error {
	return wire.Errorf(httpx.Replayed, "Nothing was done: a request with this very signature was carried out before, or is being carried out. To have it done once more, sign it anew, a second later; to repeat a request safely, use a client token.")
}

// make carries out a change whose signature is claimed.
func (c *ReplayCache) make(key spec.Signature, own *attempt, change Change) error {
	if change.Recorded != nil && change.Recorded(key) {
		c.finishRecorded(key, own)
		return errReplayed()
	}
	var answer *httpx.Answer
	done := false
	defer func() { c.finish(key, own, change, done, answer) }() // also when it panics
	answer, err := change.Make(key)
	done = err == nil
	return err
}

// claim reserves a signature for a change that is about to be made: own is that attempt. Otherwise the signature is claimed
// already: by another attempt that is being made, or by one that is done, whose answer is kept if it may be given again.
func (c *ReplayCache) claim(key spec.Signature, keyID string, at time.Time) (own, other *attempt, kept *httpx.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotate(at)
	if c.has(key) {
		if last := c.answers[keyID]; last.signature == key {
			kept = last.answer
		}
		return nil, c.running[key], kept
	}
	own = &attempt{ended: make(chan struct{})}
	c.current[key] = struct{}{}
	c.running[key] = own
	return own, nil, nil
}

func (c *ReplayCache) has(key spec.Signature) bool {
	if _, known := c.current[key]; known {
		return true
	}
	if _, known := c.previous[key]; known {
		return true
	}
	return c.running[key] != nil
}

// finish records the outcome of an attempt.
func (c *ReplayCache) finish(key spec.Signature, own *attempt, change Change, done bool, answer *httpx.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(own.ended)
	delete(c.running, key)
	c.forgetAnswer(change.Principal.KeyID)
	if !done {
		delete(c.current, key)
		delete(c.previous, key)
		return
	}
	own.done = true
	if !change.Repeatable || answer == nil || answer.Size() > maxAnswer {
		return
	}
	if own.answer = answer; c.answerBytes+answer.Size() > maxAnswers {
		clear(c.answers)
		c.answerBytes = 0
	}
	c.answers[change.Principal.KeyID] = keptAnswer{key, answer}
	c.answerBytes += answer.Size()
}

// finishRecorded ends an attempt whose change an earlier leader has made: nothing was changed now.
func (c *ReplayCache) finishRecorded(key spec.Signature, own *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, key)
	own.done = true
	close(own.ended)
}

// supersede forgets the answer of a key that has changed something else since.
func (c *ReplayCache) supersede(keyID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetAnswer(keyID)
}

func (c *ReplayCache) forgetAnswer(keyID string) {
	if last, known := c.answers[keyID]; known {
		c.answerBytes -= last.answer.Size()
		delete(c.answers, keyID)
	}
}

// rotate starts a new generation when the current one is old enough, or full. Answers do not outlive a generation.
func (c *ReplayCache) rotate(at time.Time) {
	limit := c.maxPerGeneration
	if limit == 0 {
		limit = replayMax / 2
	}
	if c.current != nil && at.Sub(c.since) < replayTTL && len(c.current) < limit {
		return
	}
	c.previous, c.current, c.since = c.current, map[spec.Signature]struct{}{}, at
	c.answers, c.answerBytes = map[string]keptAnswer{}, 0
	if c.running == nil {
		c.running = map[spec.Signature]*attempt{}
	}
}
