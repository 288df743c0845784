package exec

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Service opens sessions on the hosts of tasks, and carries their messages there. It is safe for concurrent use.
type Service struct {
	Sessions *Sessions // of this host
	Peers    *httpx.Peers
	Leader   leader.Leadership // nil: this host is alone and leads
	Local    leader.LocalState // nil: likewise
	Limits   *httpx.Limits

	// WhileKeyLives is ctx until the access key is removed or expires; its cause is then the refusal.
	WhileKeyLives func(ctx context.Context, keyID string) (context.Context, context.CancelFunc)
}

// Open opens a session on the host of the task. The caller has decided that it may be opened. Its error is a wire.Error of the type
// unreachable when the host does not answer.
func (s *Service) Open(ctx context.Context, host *spec.Host, r Request, unreachable string) (Session, error) {
	if s.isHere(host.ID) {
		return s.Sessions.Open(r)
	}
	var opened Session
	err := s.call(ctx, host, r.Owner, pathSessions, r, &opened)
	if reply, ok := errors.AsType[*wire.Error](err); err != nil && !ok {
		return opened, wire.Errorf(unreachable, "Host %s of the task cannot be reached at %s: %v. Try again when it is back.", host.Name, host.Address, err)
	} else if ok {
		return opened, reply
	}
	return opened, nil
}

// Resume makes a token for another connection to a session that the access key has opened.
func (s *Service) Resume(ctx context.Context, view *raftfsm.View, session string, by auth.Principal) (opened Session, err error) {
	host, err := hostOf(view, session)
	if err != nil {
		return opened, err
	}
	if s.isHere(host.ID) {
		return s.Sessions.Resume(session, by.KeyID)
	}
	return opened, s.call(ctx, host, by.SlotOwner(), pathResume, ofKey{session, by.KeyID}, &opened)
}

// Terminate ends a session that the access key has opened.
func (s *Service) Terminate(ctx context.Context, view *raftfsm.View, session string, by auth.Principal) error {
	host, err := hostOf(view, session)
	if err != nil {
		return err
	}
	if s.isHere(host.ID) {
		return s.Sessions.Terminate(session, by.KeyID)
	}
	return s.call(ctx, host, by.SlotOwner(), pathTerminate, ofKey{session, by.KeyID}, &struct{}{})
}

// ofKey names a session that an access key has opened.
type ofKey struct {
	Session string `json:"sessionId"`
	KeyID   string `json:"keyId"`
}

func (s *Service) isHere(hostID string) bool {
	return s.Peers.Transport == nil || hostID == s.Peers.HostID
}

// hostIDOf is the id of the host of a session, by the session's id; empty when it is none.
func hostIDOf(session string) string {
	id, ok := strings.CutPrefix(session, sessionPrefix)
	if !ok || len(id) != hostIDLength+2*nonceBytes {
		return ""
	}
	return id[:hostIDLength]
}

func hostOf(view *raftfsm.View, session string) (*spec.Host, error) {
	if host := view.Host(hostIDOf(session)); host != nil {
		return host, nil
	}
	return nil, errNoSession(session)
}

// Paths of the calls between hosts.
const (
	pathPrefix    = "/v1/exec/"
	pathSessions  = pathPrefix + "sessions"
	pathResume    = pathPrefix + "resume"
	pathTerminate = pathPrefix + "terminate"
	pathAttach    = pathPrefix + "attach/"
)

// PeerPattern and AttachPattern are where ServePeer and ServeAttach are mounted, and ClientPattern where ServeClient is.
const (
	PeerPattern   = "POST " + pathPrefix + "{call}"
	AttachPattern = "POST " + pathAttach + "{session}"
	ClientPattern = "GET " + ClientPath + "{session}"
)

// ClientPath, before a session's id, is where clients connect, with a WebSocket.
const ClientPath = "/v1/data-channel/"

// header are the headers of a call that this host, a server, has authorized.
func (s *Service) header() http.Header {
	return http.Header{httpx.HeaderAuthorizedBy: {s.Peers.HostID}, "User-Agent": {""}, "Content-Type": {httpx.JSON}}
}
