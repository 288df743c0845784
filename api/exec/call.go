package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// maxReply is the size of a host's answer to a call.
const maxReply = 64 << 10

// call has another host do what ServePeer does, for an owner of access keys. Its refusals are wire.Errors.
func (s *Service) call(ctx context.Context, host *spec.Host, owner, path string, in, out any) error {
	if x := httpx.InContext(ctx); x != nil {
		if err := s.Peers.Await(x, owner, host.ID); err != nil {
			return err
		}
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, nil)
	if err != nil {
		return err
	}
	response, end, err := s.Peers.RoundTrip(request, host.Address, s.header(), body)
	defer end()
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return refusalOf(response.StatusCode, text)
	}
	return json.Unmarshal(text, out)
}

// refusalTypes are what another host may refuse a call with: its root has no say in what clients take for an answer about anything else.
var refusalTypes = map[string]bool{httpx.NotFound: true, httpx.Throttled: true, wire.AccessDenied: true, wire.InvalidParameter: true}

// maxRefusal is the length of another host's words that are passed on.
const maxRefusal = 1024

func refusalOf(status int, text []byte) error {
	var refusal wire.Error
	if err := json.Unmarshal(text, &refusal); err != nil || !refusalTypes[refusal.Type] {
		return fmt.Errorf("it answers with status %d: %.200q", status, text)
	}
	return wire.Errorf(refusal.Type, "%.*s", maxRefusal, refusal.Message)
}

// ServePeer answers the calls of other hosts, which a server has authorized, but those that ServeAttach does.
func (s *Service) ServePeer(x *httpx.Exchange) error {
	if !x.Origin.Authorized {
		return errNotForClients
	}
	switch path := pathPrefix + x.Request.PathValue("call"); path {
	case pathSessions:
		var r Request
		if err := decode(x, &r); err != nil {
			return err
		}
		return reply(x)(s.Sessions.Open(r))
	case pathResume, pathTerminate:
		var of ofKey
		if err := decode(x, &of); err != nil {
			return err
		}
		if path == pathResume {
			return reply(x)(s.Sessions.Resume(of.Session, of.KeyID))
		}
		return reply(x)(Session{}, s.Sessions.Terminate(of.Session, of.KeyID))
	}
	return errNotForClients
}

var errNotForClients = wire.Errorf(httpx.NotFound, "There is nothing here for clients: POST /v1/tasks/{id}/exec opens an exec session.")

func decode(x *httpx.Exchange, into any) error {
	if err := json.Unmarshal(x.Body, into); err != nil {
		return wire.Errorf(wire.Serialization, "The call of the other host cannot be read: %v.", err)
	}
	return nil
}

func reply(x *httpx.Exchange) func(Session, error) error {
	return func(s Session, err error) error {
		if err == nil {
			x.Reply(http.StatusOK, s)
		}
		return err
	}
}
