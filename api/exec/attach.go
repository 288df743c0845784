package exec

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"pinion/api/exec/datachannel"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// headerKey is the access key that has opened a session, as its host tells the server that carries its messages: the session ends with the key.
const headerKey = "X-Pinion-Exec-Key"

// firstMessageTimeout is how long a client may take to prove whose session it connects to.
const firstMessageTimeout = 10 * time.Second

// pingInterval is how often a client shows that it is still there.
const pingInterval = 20 * time.Second

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
	ctx, cancel := s.Peers.Stop.Context(context.WithoutCancel(x.Context())) // the request's own context is over when the connection is taken over
	defer cancel()
	client := webSocket{accepted}
	if err := s.carryClient(ctx, session, client); err != nil {
		_ = accepted.Close(websocket.StatusPolicyViolation, shorten(err))
	}
	_ = accepted.CloseNow() // it is closed by now
	return nil
}

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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go keepAlive(ctx, client, cancel)
	return host(ctx, client)
}

// keepAlive ends a connection whose client does not answer any more.
func keepAlive(ctx context.Context, client webSocket, end context.CancelFunc) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waiting, cancel := context.WithTimeout(ctx, pingInterval)
		err := client.Ping(waiting)
		cancel()
		if err != nil {
			end()
			return
		}
	}
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

func tokenOf(first []byte) string {
	var opening datachannel.Opening
	_ = json.Unmarshal(first, &opening) // what cannot be read has no token
	return opening.TokenValue
}

// connect finds the session of a client, and returns what carries its messages until it is over. end must be called after that.
func (s *Service) connect(ctx context.Context, session string, first []byte) (carry func(context.Context, Conn) error, end func(), err error) {
	if s.isHere(hostIDOf(session)) && (s.Local == nil || s.isServer()) {
		found, err := s.Sessions.claim(session, tokenOf(first))
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, client Conn) error {
			s.whileKeyLives(ctx, found.request.KeyID, client, func(ctx context.Context) { _ = found.serve(ctx, client) }) // that is how sessions end
			return nil
		}, func() {}, nil
	}
	address, authorized, err := s.next(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	host, keyID, end, err := s.dial(ctx, address, authorized, session, first)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, client Conn) error {
		s.whileKeyLives(ctx, keyID, client, func(ctx context.Context) { relay(ctx, client, host) })
		return nil
	}, end, nil
}

// whileKeyLives carries messages until that is over, or the access key is removed or expires, which the client is told; no key is there for ever.
func (s *Service) whileKeyLives(ctx context.Context, keyID string, client Conn, carry func(context.Context)) {
	lives, cancel := s.WhileKeyLives(ctx, keyID)
	defer cancel()
	carrying, end := context.WithCancel(context.WithoutCancel(lives))
	defer end()
	defer context.AfterFunc(lives, func() {
		if httpx.KeyRemoved(lives) {
			client.Close(shorten(context.Cause(lives))) // before it is broken off, which cannot tell why
		}
		end()
	})()
	carry(carrying)
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

// dial connects to the session by another host. keyID is the access key of the session.
func (s *Service) dial(ctx context.Context, address string, authorized bool, session string, first []byte) (host Conn, keyID string, end func(), err error) {
	header := s.header()
	if !authorized {
		header.Del(httpx.HeaderAuthorizedBy)
		header.Set(httpx.HeaderForwarded, s.Peers.HostID)
	}
	in, out := io.Pipe()
	go func() { _ = newBetween(nil, out, nil).Write(first) }() // it fails when the request does
	response, end, err := s.Peers.Stream(ctx, address, pathAttach+session, header, in)
	if err != nil {
		end()
		return nil, "", nil, wire.Errorf(wire.Server, "The host of the session cannot be reached at %s: %v.", address, err)
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxReply))
		response.Body.Close()
		end()
		return nil, "", nil, refusalOf(response.StatusCode, text)
	}
	return newBetween(response.Body, out, end), response.Header.Get(headerKey), end, nil
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
	client := newBetween(x.Request.Body, &httpx.StreamWriter{Exchange: x, Flush: true}, func() { _ = control.SetReadDeadline(time.Now()) }) // reading fails then
	defer client.shutdown(func() { _ = control.SetWriteDeadline(time.Now()) })
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
		begin(x, "")
		return carry(ctx, client)
	}
	found, err := s.Sessions.claim(session, tokenOf(first))
	if err != nil {
		return err
	}
	begin(x, found.request.KeyID)
	_ = found.serve(ctx, client) // that is how sessions end
	return nil
}

// begin begins the response before there are messages.
func begin(x *httpx.Exchange, keyID string) {
	if keyID != "" {
		x.Header().Set(headerKey, keyID)
	}
	x.Header().Set("Content-Type", "application/octet-stream")
	out := &httpx.StreamWriter{Exchange: x, Flush: true}
	out.Start(http.StatusOK)
}
