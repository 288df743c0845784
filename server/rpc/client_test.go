package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// A call whose reply does not matter goes well when the other host says so, and fails when it refuses.
func TestACallWithoutAReply(t *testing.T) {
	refuses := false
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "{}")
	}))
	defer other.Close()
	client := &Client{HTTP: other.Client()}
	defer client.HTTP.CloseIdleConnections()
	call := func() error {
		return client.Call(t.Context(), strings.TrimPrefix(other.URL, "https://"), "/peer/x", struct{}{}, nil)
	}
	if err := call(); err != nil {
		t.Error(err)
	}
	if refuses = true; call() == nil {
		t.Error("a refusal counts as done")
	}
	other.Close()
	if err := call(); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("nobody answers: %v", err)
	}
}

// Any host of the pool may be in the wrong hands, and its replies take little memory.
func TestRepliesOfAnyHostAreBounded(t *testing.T) {
	text := ""
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%q", text) }))
	defer other.Close()
	for size, fits := range map[int]bool{maxReplyOfAnyHost / 2: true, maxReplyOfAnyHost: false} {
		text = strings.Repeat("x", size)
		for who, c := range map[string]struct {
			client *Client
			fits   bool
		}{"any host": {ToAnyHost(other.Client()), fits}, "a server": {&Client{HTTP: other.Client()}, true}} {
			var got string
			err := c.client.Call(t.Context(), strings.TrimPrefix(other.URL, "https://"), "/peer/x", struct{}{}, &got)
			if (err == nil) != c.fits || c.fits && got != text || !c.fits && !errors.Is(err, spec.ErrUnavailable) {
				t.Errorf("%d bytes of %s: %v", size, who, err)
			}
		}
	}
}
