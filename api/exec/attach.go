package exec

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"pinion/api/auth"
	"pinion/api/exec/datachannel"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// firstMessageTimeout is how long a client may take to prove whose session it connects to.
const firstMessageTimeout = 30 * time.Second

// ServeClient carries the messages of a session between a client, who connects with a WebSocket, and the host of the task. The token in the client's first
// message is its only credential.
func (s *Service) ServeClient(x *httpx.Exchange) error {
	if err := s.Limits.AdmitStream(x); err != nil {
		return err
	}
	session := x.Request.PathValue("session")
	if hostIDOf(session) == "" {
		return errNoSession(session)
	}
	// Without Origin patterns, pages of other hosts are refused.
	accepted, err := websocket.Accept(x, x.Request, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // it has answered
	}
	accepted.SetReadLimit(maxMessage)
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.Context())) // the request's own context is over when the connection is taken over
	defer cancel()
	client := webSocket{accepted}
	defer s.Peers.Stop.AfterFunc(ctx, func() {
		client.Close(hostStops) // before it is broken off, which cannot tell why
		cancel()
	})()
	if err := s.carryClient(ctx, session, client); err != nil {
		_ = accepted.Close(websocket.StatusPolicyViolation, shorten(err))
	}
	_ = accepted.CloseNow() // it is closed by now
	return nil
}

// What the client of a session is told that is cut off on its way to the host of the task.
const (
	hostStops = "the host that you talk to is stopping, for an upgrade maybe"
	hostGone  = "a host on the way to the task is stopping, or does not answer any more"
)

func shorten(err error) string {
	text := err.Error()
	if refusal, ok := errors.AsType[*wire.Error](err); ok {
		text = refusal.Message
	}
	return text[:min(len(text), maxReason)]
}

func (s *Service) carryClient(ctx context.Context, session string, client webSocket) error {
	first, err := readFirst(ctx, client)
	if err != nil {
		return err
	}
	host, end, err := s.connect(ctx, session, first)
	if err != nil {
		return err
	}
	defer end()
	return host(ctx, client)
}

// readFirst reads the message by which a client proves whose session it is.
func readFirst(ctx context.Context, conn Conn) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, firstMessageTimeout)
	defer cancel()
	first, err := conn.Read(ctx)
	if err == nil && len(first) > maxOpening {
		err = errTooLong
	}
	return first, err
}

// keyOf is the access key that has opened the session, by the token of its client's first message; empty for root's. The host of the session
// takes no token with another one.
func keyOf(first []byte) string {
	keyID, _, _ := strings.Cut(sessionTokenOf(first), sessionTokenSeparator)
	return keyID
}

func sessionTokenOf(first []byte) string {
	var opening datachannel.Opening
	_ = json.Unmarshal(first, &opening) // what cannot be read has no token
	return opening.TokenValue
}

// connect finds the session of a client, and returns what carries its messages until it is over. end must be called after that.
func (s *Service) connect(ctx context.Context, session string, first []byte) (carry func(context.Context, Conn) error, end func(), err error) {
	if s.isHere(hostIDOf(session)) && (s.Local == nil || s.isServer()) {
		found, err := s.Sessions.claim(session, sessionTokenOf(first))
		if err != nil {
			return nil, nil, err
		}
		return s.whileKeyLives(session, keyOf(first), func(ctx context.Context, client Conn) { _ = found.serve(ctx, client) }), func() {}, nil // that is how sessions end
	}
	address, authorized, err := s.next(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	if !authorized {
		host, end, err := s.dial(ctx, address, false, session, first)
		return func(ctx context.Context, client Conn) error { relay(ctx, client, host); return nil }, end, err
	}
	if err := s.checkKey(ctx, keyOf(first)); err != nil { // before its command may run
		return nil, nil, err
	}
	host, end, err := s.dial(ctx, address, true, session, first)
	return s.whileKeyLives(session, keyOf(first), func(ctx context.Context, client Conn) { relay(ctx, client, host) }), end, err
}

// checkKey refuses an access key that was removed or has expired.
func (s *Service) checkKey(ctx context.Context, keyID string) error {
	lives, cancel := s.WhileKeyLives(ctx, keyID)
	defer cancel()
	if lives.Err() != nil {
		return context.Cause(lives)
	}
	return nil
}

// whileKeyLives carries messages until that is over, or the access key of the session is removed or expires: then the session ends, and the client is
// told; root's lives for ever.
func (s *Service) whileKeyLives(session, keyID string, carry func(context.Context, Conn)) func(context.Context, Conn) error {
	return func(ctx context.Context, client Conn) error {
		lives, cancel := s.WhileKeyLives(ctx, keyID)
		defer cancel()
		if httpx.KeyRemoved(lives) {
			return context.Cause(lives)
		}
		carrying, end := context.WithCancel(context.WithoutCancel(lives))
		defer end()
		defer context.AfterFunc(lives, func() {
			if !httpx.KeyRemoved(lives) {
				end()
				return
			}
			client.Close(shorten(context.Cause(lives))) // before it is broken off, which cannot tell why
			end()
			s.terminate(session, keyID)
		})()
		carry(carrying, client)
		return nil
	}
}

// terminateTimeout is how long a host may take to end a session.
const terminateTimeout = 5 * time.Second

// terminate ends a session whose key was removed. One whose host cannot be asked ends by itself when its client is away.
func (s *Service) terminate(session, keyID string) {
	ctx, cancel := context.WithTimeout(context.Background(), terminateTimeout)
	defer cancel()
	if s.isHere(hostIDOf(session)) {
		_ = s.Sessions.Terminate(session, keyID) // it may be over
	} else if view, err := s.Local.StaleView(); err == nil {
		_ = s.Terminate(ctx, view, session, auth.Principal{KeyID: keyID}) // likewise
	}
}

func (s *Service) isServer() bool {
	if s.Local == nil {
		return false
	}
	_, err := s.Local.StaleView()
	return err == nil
}

// next is where a connection goes on: a server, which watches the key of the session, goes to the host of the task; an agent goes to the leader.
func (s *Service) next(ctx context.Context, session string) (address string, authorized bool, err error) {
	view, err := s.Local.StaleView()
	if errors.Is(err, spec.ErrUnavailable) {
		address, _, err = s.Leader.Leader(ctx)
		return address, false, err
	}
	if err != nil {
		return "", false, err
	}
	host, err := hostOf(view, session)
	if err != nil {
		return "", false, err
	}
	return host.Address, true, nil
}

// dial connects to the session by another host.
func (s *Service) dial(ctx context.Context, address string, authorized bool, session string, first []byte) (host Conn, end func(), err error) {
	header := s.header()
	if !authorized {
		header.Del(httpx.HeaderAuthorizedBy)
		header.Set(httpx.HeaderForwarded, s.Peers.HostID)
	}
	in, out := io.Pipe()
	go func() { _, _ = out.Write(frame(first)) }() // it fails when the request does
	response, end, err := s.Peers.Stream(ctx, address, pathAttach+session, header, in)
	if err != nil {
		end()
		return nil, nil, wire.Errorf(wire.Server, "The host of the session cannot be reached at %s: %v.", address, err)
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxReply))
		response.Body.Close()
		end()
		return nil, nil, refusalOf(response.StatusCode, text)
	}
	return newPeerConn(response.Body, out, end), end, nil
}

// ServeAttach carries the messages of a session for a host of the pool: for a server that has authorized it, to the session, which is here; for an agent, to
// the session's host.
func (s *Service) ServeAttach(x *httpx.Exchange) error {
	if x.Origin.Peer.HostID == "" || !x.Origin.Authorized && (!x.Origin.Forwarded || !s.isServer()) {
		return errNotForClients
	}
	if err := s.Limits.AdmitStream(x); err != nil {
		return err
	}
	control := x.Controller()
	client := newPeerConn(x.Request.Body, flushing{x, control}, func() { _ = control.SetReadDeadline(time.Now()) })
	defer client.retire(func() { _ = control.SetWriteDeadline(time.Now()) })
	ctx, cancel := s.Peers.Stop.Context(x.Context())
	defer cancel()
	first, err := readFirst(ctx, client)
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "The first message of the client did not come: %v.", err)
	}
	session := x.Request.PathValue("session")
	if !x.Origin.Authorized {
		carry, end, err := s.connect(ctx, session, first)
		if err != nil {
			return err
		}
		defer end()
		begin(x)
		_ = carry(ctx, client) // the response has begun: what ends it is in its messages
		return nil
	}
	found, err := s.Sessions.claim(session, sessionTokenOf(first))
	if err != nil {
		return err
	}
	begin(x)
	_ = found.serve(ctx, client) // that is how sessions end
	return nil
}

// begin begins the response before there are messages. It has no deadline: a session may be silent for long, and its output may wait for its client.
func begin(x *httpx.Exchange) {
	x.Header().Set("Content-Type", "application/octet-stream")
	x.WriteHeader(http.StatusOK)
	_ = x.Controller().SetWriteDeadline(time.Time{})
	_ = x.Controller().Flush() // a host that is gone is noticed at the next message
}

// flushing sends each message at once.
type flushing struct {
	x       *httpx.Exchange
	control *http.ResponseController
}

// Write writes and flushes.
func (f flushing) Write(message []byte) (int, error) {
	n, err := f.x.Write(message)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}
