package exec

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"pinion/api/audit"
	"pinion/api/httpx"
	"pinion/api/wire"
)

// Sessions are those whose command runs on this host. It is safe for concurrent use.
type Sessions struct {
	mu     sync.Mutex // guards what follows
	host   Host
	hostID string     // of this host: the ids of its sessions begin with it
	audit  *audit.Log // has the begin and the end of each session
	stop   httpx.Stop // ends them all
	byID   map[string]*session
}

// Setup gives the sessions their host. Each of its handlers does so; a stop ends the sessions that are opened after it was given.
func (s *Sessions) Setup(host Host, hostID string, record *audit.Log, stop httpx.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host, s.hostID, s.audit = host, hostID, record
	if stop != nil {
		s.stop = stop
	}
}

// Open makes a session, whose command starts when its client has connected.
func (s *Sessions) Open(r Request) (Session, error) {
	if err := r.check(); err != nil {
		return Session{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkRoom(r.Owner); err != nil {
		return Session{}, err
	}
	ctx, release := context.WithCancelCause(context.Background())
	stopWaiting := s.stop.AfterFunc(ctx, func() { release(errHostStops) })
	made := newSession(ctx, sessionPrefix+s.hostID+randomHex(nonceBytes), r)
	if s.byID == nil {
		s.byID = map[string]*session{}
	}
	s.byID[made.id] = made
	token, host := made.newSessionToken(), s.host
	s.record(made, "", nil)
	go func() {
		defer stopWaiting()
		defer release(nil)
		code, cause := made.run(host)
		s.mu.Lock()
		delete(s.byID, made.id)
		s.mu.Unlock()
		s.record(made, made.outcome(code), cause)
	}()
	return Session{ID: made.id, Token: token}, nil
}

// checkRoom refuses a session to an owner of access keys that has as many as there are free places. So one has half of a host at most, the next half of what is
// left, and ten have to hold it all before another is kept out.
func (s *Sessions) checkRoom(owner string) error {
	same := 0
	for _, other := range s.byID {
		if other.request.Owner == owner {
			same++
		}
	}
	if free := maxSessions - len(s.byID); same >= free {
		return wire.Errorf(httpx.Throttled, "The host of the task has %d exec sessions of %d at most, %d of them of %s, who may have no more than there are free places: %d. End some first.", len(s.byID), maxSessions, same, owner, free)
	}
	return nil
}

// check refuses a command that no host would run.
func (r *Request) check() error {
	if r.Port != 0 {
		if r.Port < 1 || r.Port > math.MaxUint16 || len(r.Command) > 0 || r.TTY {
			return wire.Errorf(wire.InvalidParameter, "port must be from 1 to %d, and stands alone.", math.MaxUint16)
		}
		return nil
	}
	length := 0
	for _, argument := range r.Command {
		length += len(argument)
		if strings.ContainsRune(argument, 0) {
			return wire.Errorf(wire.InvalidParameter, "command must not contain NUL characters.")
		}
	}
	if len(r.Command) == 0 || r.Command[0] == "" || len(r.Command) > maxArguments || length > maxCommandLength {
		return wire.Errorf(wire.InvalidParameter, "command must name a program, and have at most %d bytes in %d arguments.", maxCommandLength, maxArguments)
	}
	return nil
}

// what says what the session is for.
func (r *Request) what() string {
	if r.Port != 0 {
		return fmt.Sprintf("port %d", r.Port)
	}
	return fmt.Sprintf("%q", r.Command)
}

// errNoSession refuses what is about a session that is not there.
func errNoSession(id string) error {
	return wire.Errorf(httpx.NotFound, "There is no exec session %.100q: it is over, or its token was used or has expired.", id)
}

func (s *Sessions) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[id]; found != nil {
		return found, nil
	}
	return nil, errNoSession(id)
}

// claim is the session that a token is for. The token is used then.
func (s *Sessions) claim(id, token string) (*session, error) {
	found, err := s.find(id)
	if err == nil && !found.useSessionToken(token) {
		err = errNoSession(id)
	}
	return found, err
}

// Resume makes a token for another connection to a session that the key has opened.
func (s *Sessions) Resume(id, keyID string) (Session, error) {
	found, err := s.ofKey(id, keyID)
	if err != nil {
		return Session{}, err
	}
	if !found.client.Resumable() {
		return Session{}, errNoSession(id)
	}
	return Session{ID: id, Token: found.newSessionToken()}, nil
}

// Terminate ends a session that the key has opened.
func (s *Sessions) Terminate(id, keyID string) error {
	found, err := s.ofKey(id, keyID)
	if err == nil {
		found.end(errKilled)
	}
	return err
}

// ofKey finds a session of one access key: those of others are not there for it.
func (s *Sessions) ofKey(id, keyID string) (*session, error) {
	found, err := s.find(id)
	if err == nil && found.request.KeyID != keyID {
		err = errNoSession(id)
	}
	return found, err
}

// outcome says how a session ended.
func (s *session) outcome(code int) string {
	return fmt.Sprintf("exit code %d after %v, %d bytes in, %d bytes out", code, time.Since(s.opened).Round(time.Millisecond), s.bytesIn.Load(), s.bytesOut.Load())
}

// record writes the begin of a session, or how it ended, to the audit log.
func (s *Sessions) record(of *session, ended string, cause error) {
	entry := audit.Line{
		Outcome: audit.Done, Principal: of.request.Principal, KeyName: of.request.KeyName, Address: of.request.Address, Operation: "exec session begins", RequestID: of.id,
		Administrator: of.request.Admin, Status: http.StatusOK, Command: of.request.what(), Message: fmt.Sprintf("task %s, container %s", of.request.Task, of.request.Container),
	}
	if ended != "" {
		entry.Operation, entry.Message = "exec session ends", ended+": "+entry.Message
	}
	if cause != nil && !errors.Is(cause, errClientEnded) {
		entry.Outcome, entry.Message = audit.Failed, cause.Error()+"; "+entry.Message
	}
	s.audit.Record(entry)
}

// randomHex is so many bytes that nobody can guess, as hex digits.
func randomHex(bytes int) string {
	text := make([]byte, bytes)
	_, _ = rand.Read(text) // never fails
	return hex.EncodeToString(text)
}
