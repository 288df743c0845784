package exec

import (
	"context"
	"net/http"
	"strings"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
)

// SSMTarget is the prefix of X-Amz-Target of AWS Systems Manager, and SSMService the service that its requests are signed for.
const (
	SSMTarget  = "AmazonSSM"
	SSMService = "ssm"
)

// The operations of AWS Systems Manager.
const (
	resume    = "ResumeSession"
	Terminate = "TerminateSession" // means no more when it is repeated
)

// IsSSM reports whether a request is for AWS Systems Manager.
func IsSSM(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("X-Amz-Target"), SSMTarget+".")
}

// SSMRole is the least role of the keys that may call operations of AWS Systems Manager.
const SSMRole = accesskey.RoleSubmit

// FindSSM is the operation of that name, by which session-manager-plugin connects to a session again, or ends it.
func FindSSM(name string) error {
	if name == resume || name == Terminate {
		return nil
	}
	return wire.Errorf(wire.UnknownOperation, "%s is not an operation of AWS Systems Manager that Pinion answers: ResumeSession and TerminateSession are, for sessions of ExecuteCommand.", name)
}

// ssmInput is the input of both operations.
type ssmInput struct {
	SessionID string `json:"SessionId"`
}

type ssmOutput struct {
	SessionID  string `json:"SessionId"`
	TokenValue string `json:"TokenValue,omitempty"`
	StreamURL  string `json:"StreamUrl,omitempty"`
}

// RunSSM answers an operation that FindSSM knows. A session is known to the key that has opened it.
func (s *Service) RunSSM(ctx context.Context, name string, x *httpx.Exchange, principal auth.Principal, view *raftfsm.View) error {
	var in ssmInput
	if err := wire.DecodeJSON(x.Body, &in, wire.Lenient); err != nil {
		return err
	}
	out := ssmOutput{SessionID: in.SessionID}
	if name == Terminate {
		if err := s.Terminate(ctx, view, in.SessionID, principal); err != nil {
			return err
		}
	} else {
		resumed, err := s.Resume(ctx, view, in.SessionID, principal)
		if err != nil {
			return err
		}
		out.TokenValue, out.StreamURL = resumed.Token, StreamURL(x.Request.Host, in.SessionID)
	}
	x.Reply(http.StatusOK, out)
	return nil
}

// StreamURL is where clients of a data channel connect, by the name that they have reached a host by.
func StreamURL(host, session string) string {
	return "wss://" + host + ClientPath + session + "?role=publish_subscribe"
}
