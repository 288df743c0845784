package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// socketClient talks to a unix socket.
func socketClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

func TestTheLocalSocketIsRootsAloneAndReplacesAnOldOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 2 { // the second finds the socket of the first, as after kill -9
		l, err := ListenLocal(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
			t.Errorf("beside the socket there is %v, %v", files, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- Serve(ctx, l, newFixture(t).config) }()
		response, err := socketClient(path).Get("http://pinion/healthz")
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", response, err)
		}
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// A followed log would hold up the end of the host for ever.
func TestServeBreaksStreamsOffWhenItEnds(t *testing.T) {
	b := newLogFixture(t, func(ctx context.Context, _ spec.LogQuery, _ func(spec.LogLine) error) error {
		<-ctx.Done()
		return ctx.Err()
	})
	path := filepath.Join(t.TempDir(), "s")
	l, err := ListenLocal(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- Serve(ctx, l, b.config) }()
	response, err := socketClient(path).Get("http://pinion" + logPath + "?follow=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestASocketPathThatIsTooLong(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenLocal(filepath.Join(deep, "s")); err == nil {
		t.Error("there is a socket at a path that is too long for one")
	}
}
