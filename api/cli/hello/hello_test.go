package hello

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// syncBuffer may be written by several requests.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func TestHelloSaysWhoAnswersWhatAndEndsWhenItIsStopped(t *testing.T) {
	t.Setenv("PINION_TASK_ID", "3f2a")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var out syncBuffer
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, &out) }()
	reply, err := http.Get("http://" + listener.Addr().String() + "/models/a%1b?n=1")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	reply.Body.Close()
	if err != nil || reply.StatusCode != 200 || !strings.Contains(string(body), "task: 3f2a\nrequest: GET /models/a%1b?n=1\n") {
		t.Errorf("%d %q, %v", reply.StatusCode, body, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.text.String(), "GET /models/a%1b?n=1 from 127.0.0.1:") {
		t.Errorf("%q", out.text.String())
	}
}

// A request that is longer than anybody needs is refused, and not printed.
func TestHelloRefusesLargeHeaders(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, io.Discard) }()
	reply, err := http.Get("http://" + listener.Addr().String() + "/" + strings.Repeat("x", 4*maxHeaderBytes))
	if err == nil {
		reply.Body.Close()
		if reply.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%d", reply.StatusCode)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
