package consensus

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/failpoint"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// signatureLog remembers the signatures of the requests whose changes the newest log entries hold. They travel as extensions of the
// entries: every server learns them, so a server that begins to lead knows what its predecessors have carried out, and the
// replicated state has nothing of it.
//
// A snapshot has no signatures. So a server that restored one cannot tell about requests that were signed before the entries
// that it has applied since.
type signatureLog struct {
	raft.FSM
	now func() time.Time

	mu                sync.Mutex
	current, previous map[spec.Signature]struct{} // two generations: the older one is dropped whole
	since             time.Time                   // when the first entry of the current generation was appended
	knownFrom         time.Time                   // signatures of requests before this are not known; zero: all are
	restored          bool                        // and no entry was applied since
}

const (
	// signatureTTL is how long a signed request can be sent again: five minutes either way (see package sigv4).
	signatureTTL = 10 * time.Minute
	// maxSignatures bounds one generation to about 5 MB.
	maxSignatures = 1 << 17
)

// Apply also remembers the signatures of an entry that changed something.
func (l *signatureLog) Apply(entry *raft.Log) any {
	answer := l.FSM.Apply(entry)
	failpoint.Reached(failpoint.EntryApplied)
	outcome, ok := answer.(raftfsm.ApplyResult)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.restored {
		l.knownFrom, l.restored = entry.AppendedAt, false
	}
	if !ok || outcome.Err != nil {
		return answer
	}
	for rest := entry.Extensions; len(rest) >= len(spec.Signature{}); rest = rest[len(spec.Signature{}):] {
		if l.current == nil || entry.AppendedAt.Sub(l.since) >= signatureTTL || len(l.current) >= maxSignatures {
			l.previous, l.current, l.since = l.current, map[spec.Signature]struct{}{}, entry.AppendedAt
		}
		l.current[spec.Signature(rest)] = struct{}{}
	}
	return answer
}

// Restore also forgets what the snapshot does not tell.
func (l *signatureLog) Restore(snapshot io.ReadCloser) error {
	if err := l.FSM.Restore(snapshot); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.previous = nil, nil
	l.knownFrom, l.restored = l.now(), true
	return nil
}

// used reports whether the request with this signature was carried out, or may have been.
func (l *signatureLog) used(signature spec.Signature, signedAt time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, is := l.current[signature]; is {
		return true
	}
	if _, is := l.previous[signature]; is {
		return true
	}
	return signedAt.Before(l.knownFrom)
}

// SignatureUsed reports whether the log has a change by a request with this signature, or may have had one: then the request must not be
// carried out. It needs a view that the leader has confirmed.
func (n *Node) SignatureUsed(signature spec.Signature, signedAt time.Time) bool {
	return n.signatures.used(signature, signedAt)
}

// extensionsOf is what a log entry carries beside its command.
func extensionsOf(signatures []spec.Signature) (extensions []byte) {
	for _, signature := range signatures {
		extensions = append(extensions, signature[:]...)
	}
	return extensions
}
