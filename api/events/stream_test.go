package events

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pinion/api/httpx"
)

// client notes the deadline of what is written to it.
type client struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (c *client) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

// A silent stream has no deadline: on HTTP/2 that would end it before the next heartbeat.
func TestASilentStreamHasNoDeadline(t *testing.T) {
	c := &client{ResponseRecorder: httptest.NewRecorder()}
	s := &stream{x: &httpx.Exchange{ResponseWriter: c}, control: http.NewResponseController(c)}
	if err := s.write([]byte("id: 1-0\n\n")); err != nil || !c.deadline.IsZero() || c.Body.Len() == 0 {
		t.Errorf("%v, a deadline at %v, %q", err, c.deadline, c.Body)
	}
}
