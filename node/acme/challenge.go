package acme

import (
	"context"
	"crypto/tls"
	"sync"
	"time"
)

// lookupInterval is the least time between two looks for the answer to the challenges of a name.
const lookupInterval = 100 * time.Millisecond

// answers find the certificates that answer a CA's challenges. Anybody can ask as a CA does, and each look asks the leader of the pool: there is one
// at a time of a name, and few a second. It answers all that came before it began, and nobody who came later: what was missing may be there by then.
type answers struct {
	find func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	mu    sync.Mutex
	names map[string]*lookups
}

// lookups are the lookups of one name's challenges.
type lookups struct {
	next *lookup    // has not begun; nil: nobody waits for one
	turn sync.Mutex // is held by the lookup that goes on
	last time.Time
}

// lookup is one search for an answer. What it has found is there when done is closed.
type lookup struct {
	done   chan struct{}
	answer *tls.Certificate
	err    error
}

// answer finds the answer for a name that a listener has.
func (a *answers) answer(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	l, ctx := a.join(hello), hello.Context()
	if ctx == nil { // of no handshake
		ctx = context.Background()
	}
	select {
	case <-l.done:
		return l.answer, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join is the next look for a name. Who is the first to wait for it has it made.
func (a *answers) join(hello *tls.ClientHelloInfo) *lookup {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.names[hello.ServerName]
	if n == nil {
		n = &lookups{}
		if a.names == nil {
			a.names = map[string]*lookups{}
		}
		a.names[hello.ServerName] = n
	}
	if n.next == nil {
		n.next = &lookup{done: make(chan struct{})}
		go a.resolve(n, &tls.ClientHelloInfo{ServerName: hello.ServerName, SupportedProtos: hello.SupportedProtos})
	}
	return n.next
}

func (a *answers) resolve(n *lookups, hello *tls.ClientHelloInfo) {
	n.turn.Lock()
	defer n.turn.Unlock()
	time.Sleep(time.Until(n.last.Add(lookupInterval)))
	a.mu.Lock()
	l := n.next
	n.next = nil
	a.mu.Unlock()
	l.answer, l.err = a.find(hello)
	n.last = time.Now()
	close(l.done)
}
