package rpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"pinion/packaging/jsonshape"
	"pinion/raftfsm/spec"
)

const (
	// callTimeout is for calls whose context has no deadline that is earlier.
	callTimeout = 10 * time.Second
	// maxCallBytes is the size of a request or a reply at most: reports of many hosts stay far below it.
	maxCallBytes = 64 << 20
)

// maxReplyOfAnyHost is the size of a reply at most where any host may answer, which may be in the wrong hands: what is asked there has some kilobytes.
const maxReplyOfAnyHost = 1 << 20

// maxElementsOfAnyHost is how many elements such a reply has at most: the longest names the hosts that were removed from the pool.
const maxElementsOfAnyHost = 50_000

// Client calls other hosts. Its errors wrap spec.ErrUnavailable when the other host gave no reply; otherwise they are
// the other host's own (see WireError).
type Client struct {
	HTTP *http.Client
	most int64 // bytes of a reply; 0: maxCallBytes
}

// ToAnyHost makes a Client for what any host may be asked: it reads no long replies.
func ToAnyHost(client *http.Client) *Client { return &Client{client, maxReplyOfAnyHost} }

// Call sends in as JSON and decodes the reply into out; nil: what it says does not matter. The address is a "host:port", where any host of the pool may
// answer, or the id of the one host that may.
func (c *Client) Call(ctx context.Context, address, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s of %s: %w", path, address, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("call %s of %s: %w", path, address, err)
	}
	answer, err := c.HTTP.Do(request)
	if err != nil {
		return noReply(address, err)
	}
	defer answer.Body.Close()
	most := cmp.Or(c.most, maxCallBytes)
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err != nil {
		return noReply(address, err)
	}
	if int64(len(text)) > most {
		return &noReplyError{fmt.Sprintf("host %s answered with more than %d bytes", address, most), true, nil}
	}
	if c.most > 0 {
		if err := jsonshape.Check(text, maxElementsOfAnyHost); err != nil {
			return &noReplyError{fmt.Sprintf("host %s answered with what no host answers: %v", address, err), true, err}
		}
	}
	return decodeReply(address, answer.StatusCode, text, out)
}

func decodeReply(address string, status int, text []byte, out any) error {
	if status == http.StatusOK {
		if out == nil {
			return nil
		}
		return json.Unmarshal(text, out)
	}
	var e WireError
	if err := json.Unmarshal(text, &e); err != nil || e.Text == "" {
		return &noReplyError{fmt.Sprintf("host %s answered with status %d", address, status), true, nil}
	}
	return e.Err()
}

// noReplyError: another host gave no reply. It wraps spec.ErrUnavailable and knows whether anything was sent.
type noReplyError struct {
	text  string
	sent  bool
	cause error // nil when the reply was no JSON of ours
}

func (e *noReplyError) Error() string { return e.text }

// Unwrap says what the missing reply means for a change: nothing was done, or it may have been.
func (e *noReplyError) Unwrap() []error {
	if e.sent {
		return []error{spec.ErrOutcomeUnknown, e.cause}
	}
	return []error{spec.ErrNotLeader, e.cause}
}

func noReply(address string, err error) error {
	var dialing *net.OpError
	notSent := errors.As(err, &dialing) && dialing.Op == "dial"
	return &noReplyError{fmt.Sprintf("host %s does not answer: %v", address, err), !notSent, err}
}
