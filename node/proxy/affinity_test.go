package proxy

import (
	"io"
	"net/http"
	"testing"

	"pinion/raftfsm/traffic"
)

// announced is a body that does not come. It notes how much room its reader has taken for it.
type announced struct{ room int }

func (a *announced) Read(p []byte) (int, error) {
	a.room = max(a.room, len(p))
	return 0, io.EOF
}

// A client that announces a body and sends none takes no memory for it.
func TestABodyThatDoesNotComeTakesNoRoom(t *testing.T) {
	for _, length := range []int64{-1, traffic.MaxAffinityLength} {
		body := &announced{}
		r := &http.Request{Method: http.MethodPost, ContentLength: length, Body: io.NopCloser(body)}
		if _, err := preferenceOf(&traffic.Affinity{By: traffic.ByBody, Length: traffic.MaxAffinityLength}, r); err != nil {
			t.Error(err)
		}
		if body.room > 4<<10 {
			t.Errorf("a length of %d takes %d bytes", length, body.room)
		}
	}
}
